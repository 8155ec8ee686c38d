"""Answers for add_class_token_and_positions (assignment 13, exercise 4)."""
import math

import torch
import torch.nn.functional as F

from answers import change, right, wrong


def _plain(patches, class_token, positions):
    B, N, D = patches.shape
    return torch.cat([class_token.expand(B, 1, D), patches], dim=1) + positions


# ---------------------------------------------------------------------------------------------------------------- right


@right("The class token's row and the patches' rows get their positions apart, then cat")
def added_apart(patches, class_token, positions):
    first = (class_token + positions[0]).repeat(patches.shape[0], 1, 1)
    return torch.cat((first, patches + positions[1:]), dim=-2)


@right("A tensor made by new_empty is filled, and the positions are added to it in place")
def filled_and_added(patches, class_token, positions):
    B, N, D = patches.shape
    tokens = patches.new_empty((B, N + 1, D))
    tokens[:, 0] = class_token
    tokens[:, 1:] = patches
    tokens += positions
    return tokens


@right("F.pad puts a row of zeros in front of the patches and zeros behind the class token; all is added")
def padded(patches, class_token, positions):
    rows = F.pad(class_token[None], (0, 0, 0, patches.shape[1])) + positions
    return F.pad(patches, (0, 0, 1, 0)) + rows


@right("A list of tokens along the batch, each with its position, stacked on axis 1")
def token_by_token(patches, class_token, positions):
    tokens = [torch.broadcast_to(class_token, patches[:, 0].shape), *patches.unbind(dim=1)]
    return torch.stack([token + position for token, position in zip(tokens, positions)], dim=1)


@right("Image by image, stacked")
def image_by_image(patches, class_token, positions):
    return torch.stack([torch.vstack([class_token, image]).add(positions) for image in patches])


@right("torch.vmap over the batch")
def mapped(patches, class_token, positions):
    def one(image):
        return positions + torch.cat([class_token.unsqueeze(0), image])

    return torch.vmap(one)(patches)


@right("Positions repeated for each image, then added in place to the two parts of a clone")
def clone_of_positions(patches, class_token, positions):
    X = positions.unsqueeze(0).repeat(len(patches), 1, 1)
    X[:, :1] += class_token
    X[:, 1:] += patches
    return X


@right("torch.where on the number of the token: the class token at 0, elsewhere the patch before it")
def chosen_by_where(patches, class_token, positions):
    n = torch.arange(patches.shape[1] + 1, device=patches.device)
    shifted = patches[:, (n - 1).clamp(min=0)]
    return torch.where((n == 0)[:, None], class_token, shifted) + positions


@right("index_add onto expanded positions along the axis of tokens")
def index_added(patches, class_token, positions):
    B, N, D = patches.shape
    X = positions.expand(B, N + 1, D)
    X = X.index_add(1, torch.arange(1, N + 1, device=patches.device), patches)
    return X.index_add(1, torch.zeros(1, dtype=torch.int64, device=patches.device), class_token.expand(B, 1, D))


@right("new_ones times the class token makes the batch of class tokens; torch.concat, torch.add")
def product_with_ones(patches, class_token, positions):
    ones = patches.new_ones(patches.shape[0], 1, 1)
    return torch.add(torch.concat([ones * class_token, patches], 1), positions)


@right("hstack of three-axis tensors, positions with a batch axis")
def stacked_along_tokens(patches, class_token, positions):
    first = class_token.view(1, 1, -1).expand(patches.size(0), -1, -1)
    return positions[None, :, :] + torch.hstack([first, patches])


@right("Works with features in front and turns the result back")
def features_in_front(patches, class_token, positions):
    first = class_token[:, None].expand(patches.shape[0], -1, 1)
    return (torch.cat([first, patches.mT], dim=2) + positions.mT).mT


@right("slice_scatter onto positions")
def sliced_scatter(patches, class_token, positions):
    X = positions + torch.zeros_like(patches[:, :1])
    X = torch.slice_scatter(X, X[:, 1:] + patches, dim=1, start=1)
    return torch.select_scatter(X, X[:, 0] + class_token, dim=1, index=0)


# ------------------------------------------------------------------------------------------------------ wrong: concepts


@wrong("the class token stands behind the patches instead of in front", kind="concept")
def class_token_at_the_end(patches, class_token, positions):
    return torch.cat([patches, class_token.expand(len(patches), 1, -1)], dim=1) + positions


@wrong("no positions are added at all", kind="concept")
def no_positions(patches, class_token, positions):
    return torch.cat([class_token.expand(len(patches), 1, -1), patches], dim=1)


@wrong("the class token gets no position", kind="concept")
def class_token_without_position(patches, class_token, positions):
    return torch.cat([class_token.expand(len(patches), 1, -1), patches + positions[1:]], dim=1)


@wrong("only the class token gets its position; the patches get none", kind="concept")
def only_the_class_token_gets_one(patches, class_token, positions):
    return torch.cat([(class_token + positions[0]).expand(len(patches), 1, -1), patches], dim=1)


@wrong("the patches get the positions 0 to N-1 and the class token the last one", kind="concept")
def last_position_for_the_class_token(patches, class_token, positions):
    return _plain(patches, class_token, positions.roll(1, dims=0))


@wrong("the patches get the positions 0 to N-1, one too early, and the class token gets position 0 too", kind="concept")
def positions_one_too_early(patches, class_token, positions):
    first = (class_token + positions[0]).expand(len(patches), 1, -1)
    return torch.cat([first, patches + positions[:-1]], dim=1)


# Right, and not registered: answers below are changes of it.
def _in_one_call(patches, class_token, positions):
    return _plain(patches, class_token, positions)


change(_in_one_call, "positions_reversed", "the positions are added in reversed order", "concept",
       ("_plain(patches, class_token, positions)", "_plain(patches, class_token, positions.flip(0))"))


@wrong("only the positions of the patches are reversed; that of the class token is right", kind="concept")
def patches_positions_reversed(patches, class_token, positions):
    return _plain(patches, class_token, torch.cat([positions[:1], positions[1:].flip(0)]))


change(_plain, "subtracted", "the positions are subtracted", "concept",
       ("B, N, D = patches.shape", ""), ("B, 1, D", "len(patches), 1, -1"), ("+ positions", "- positions"))
change(_plain, "multiplied", "the tokens are multiplied by the positions instead of added to them", "concept",
       ("B, N, D = patches.shape", ""), ("B, 1, D", "len(patches), 1, -1"), ("+ positions", "* positions"))
change(_in_one_call, "added_twice", "the positions are added twice", "concept",
       ("_plain(patches, class_token, positions)", "_plain(patches, class_token, positions) + positions"))


@wrong("the patches (not the class token) are multiplied by the root of D", kind="concept")
def patches_times_root(patches, class_token, positions):
    return _plain(patches * math.sqrt(patches.shape[-1]), class_token, positions)


change(_in_one_call, "class_token_everywhere", "the class token is added to every patch too", "concept",
       ("_plain(patches, class_token, positions)", "_plain(patches + class_token, class_token, positions)"))


@wrong("the class token takes the place of the first patch, so there are N tokens", kind="concept")
def replaces_the_first_patch(patches, class_token, positions):
    return _plain(patches[:, 1:], class_token, positions[:-1])


@wrong("the result is right but for its first token, which is left out: N tokens", kind="shape")
def first_token_left_out(patches, class_token, positions):
    return patches + positions[1:]


@wrong("the class token is joined to each patch along the features: [B, N, 2*D]", kind="shape")
def joined_along_features(patches, class_token, positions):
    return torch.cat([class_token.expand_as(patches), patches + positions[1:]], dim=2)


@wrong("the positions are joined along the features instead of added: [B, N+1, 2*D]", kind="shape")
def positions_joined(patches, class_token, positions):
    tokens = torch.cat([class_token.expand(len(patches), 1, -1), patches], dim=1)
    return torch.cat([tokens, positions.expand_as(tokens)], dim=-1)


@wrong("the first token is the mean of the patches instead of the class token", kind="concept")
def mean_instead_of_class_token(patches, class_token, positions):
    return torch.cat([patches.mean(1, keepdim=True) + 0 * class_token, patches], dim=1) + positions


@wrong("the mean of the patches is added to the class token", kind="concept")
def mean_added(patches, class_token, positions):
    return torch.cat([class_token + patches.mean(1, keepdim=True), patches], dim=1) + positions


change(positions_one_too_early, "one_position_for_all", "all patches get the position of the first patch", "concept",
       ("positions[:-1]", "positions[1]"))
change(_in_one_call, "variance_kept", "the sum is divided by the root of 2 to keep its variance", "concept",
       ("_plain(patches, class_token, positions)", "_plain(patches, class_token, positions) / math.sqrt(2)"))
change(_in_one_call, "patches_reversed",
       "the order of the patches is reversed, with the positions left in order", "concept",
       ("_plain(patches, class_token, positions)", "_plain(patches.flip(1), class_token, positions)"))


@wrong("a class token is put at both ends, so there are N+2 tokens", kind="concept")
def at_both_ends(patches, class_token, positions):
    X = _plain(patches, class_token, positions)
    return torch.cat([X, X[:, :1]], dim=1)


change(_in_one_call, "tokens_first", "the result is [N+1, B, D], with tokens in front of the batch", "shape",
       ("_plain(patches, class_token, positions)", "_plain(patches, class_token, positions).transpose(0, 1)"))


@wrong("a LayerNorm without weights follows the sum", kind="concept")
def normalised(patches, class_token, positions):
    return F.layer_norm(_plain(patches, class_token, positions), patches.shape[-1:])


# -------------------------------------------------------------------------------------------------- wrong: two mistakes


@wrong("two mistakes: the class token stands at the end (so the patches get the positions 0 to N-1), and it gets no "
       "position", kind="concept")
def at_the_end_without_position(patches, class_token, positions):
    return torch.cat([patches + positions[:-1], class_token.expand(len(patches), 1, -1)], dim=1)


@wrong("two mistakes: positions are counted backwards, and they are multiplied by the root of D", kind="concept")
def backwards_and_scaled(patches, class_token, positions):
    return _plain(patches, class_token, positions.flip(0) * math.sqrt(patches.shape[-1]))


change(_in_one_call, "subtracted_and_detached",
       "two mistakes: positions are subtracted, and they are detached", "gradient",
       ("_plain(patches, class_token, positions)", "_plain(patches, class_token, -positions.detach())"))


@wrong("two mistakes: the class token is added to all patches, and the mean of the patches stands in front in its "
       "place", kind="concept")
def roles_exchanged(patches, class_token, positions):
    return torch.cat([patches.mean(1, keepdim=True), patches + class_token], dim=1) + positions


# ------------------------------------------------------------------------------------------- wrong: layout, sizes, edge


@wrong("view joins the batch and the patches, which raises for patches in other memory layouts", kind="layout")
def view_of_patches(patches, class_token, positions):
    B, N, D = patches.shape
    return _plain(patches.view(B * N, D).view(B, N, D), class_token, positions)


@wrong("the positions are flattened by view, which raises where they are transposed in memory or sliced", kind="layout")
def view_of_positions(patches, class_token, positions):
    B, N, D = patches.shape
    row = positions.view(-1)
    return (torch.cat([class_token.expand(B, D), patches.reshape(B, -1)], dim=1) + row).reshape(B, N + 1, D)


change(_plain, "strided_class_token", "as_strided with a step of 1 shows the class token: wrong numbers where it is "
       "sliced with a step or expanded", "layout",
       (".expand(B, 1, D)", ".as_strided((B, 1, D), (0, 0, 1))"))


@wrong("squeeze() on the result removes every axis of size 1, for instance a batch of one image", kind="layout")
def squeezed(patches, class_token, positions):
    return _plain(patches, class_token, positions).squeeze()


change(_in_one_call, "single_image_dropped", "a batch of a single image loses its axis", "edge",
       ("_plain(patches, class_token, positions)", "_plain(patches, class_token, positions).squeeze(0)"))
change(_in_one_call, "single_feature_dropped",
       "vectors of a single feature lose the axis of features: [B, N+1]", "edge",
       ("_plain(patches, class_token, positions)", "_plain(patches, class_token, positions).squeeze(-1)"))
change(_plain, "batch_of_one", "the batch is taken to be a single image: the class token is given the shape [1, 1, D], "
       "so cat raises for more", "layout",
       ("B, N, D = patches.shape", ""), ("class_token.expand(B, 1, D)", "class_token[None, None]"))


@wrong("only the first image is used, and its sequence is repeated for the batch", kind="layout")
def first_image_for_all(patches, class_token, positions):
    return _plain(patches[:1], class_token, positions).expand(len(patches), -1, -1)


@wrong("the position of the class token is left out where there is a single patch", kind="edge")
def single_patch_special(patches, class_token, positions):
    if patches.shape[1] == 1:
        positions = torch.cat([torch.zeros_like(positions[:1]), positions[1:]])
    return _plain(patches, class_token, positions)


@wrong("where N equals D patches are taken to come as [B, D, N] and are transposed", kind="edge")
def guesses_transposed(patches, class_token, positions):
    if patches.shape[1] == patches.shape[2]:
        patches = patches.transpose(1, 2)
    return _plain(patches, class_token, positions)


@wrong("where N+1 equals D the positions are transposed before they are added", kind="edge")
def positions_transposed_if_square(patches, class_token, positions):
    if positions.shape[0] == positions.shape[1]:
        positions = positions.T
    return _plain(patches, class_token, positions)


@wrong("where B equals N+1 each image gets one position for all its tokens (the positions go along the batch)",
       kind="edge")
def positions_along_the_batch(patches, class_token, positions):
    tokens = torch.cat([class_token.expand(len(patches), 1, -1), patches], dim=1)
    return tokens + (positions[:, None] if len(positions) == len(patches) else positions)


@wrong("at most 196 patches get a position, those behind get none", kind="edge")
def positions_up_to_196(patches, class_token, positions):
    kept = torch.arange(len(positions), device=positions.device)[:, None] <= 196
    return _plain(patches, class_token, positions * kept)


@wrong("the class token is left out where all its numbers are 0, so there are N tokens", kind="edge")
def zero_class_token_left_out(patches, class_token, positions):
    if not class_token.any():
        return patches + positions[1:]
    return _plain(patches, class_token, positions)


# ------------------------------------------------------------------------------------- wrong: types, numerics, gradient


@wrong("the class tokens are put into torch.zeros without a type, so bfloat16 inputs give float32 results, and the "
       "class token of float64 is rounded", kind="numerics")
def zeros_without_a_type(patches, class_token, positions):
    first = torch.zeros(len(patches), 1, patches.shape[-1], device=patches.device)
    first[:] = class_token
    return torch.cat([first, patches], dim=1) + positions


change(_in_one_call, "cast_to_single",
       "everything is cast to float32, so float64 and bfloat16 give float32", "numerics",
       ("_plain(patches, class_token, positions)", "_plain(patches.float(), class_token.float(), positions.float())"))


@wrong("the positions are rounded to bfloat16 before they are added", kind="numerics")
def positions_in_half(patches, class_token, positions):
    return _plain(patches, class_token, positions.bfloat16().to(patches.dtype))


change(_in_one_call, "always_double", "the result is made in double precision whatever the inputs' type is", "numerics",
       ("_plain(patches, class_token, positions)", "_plain(patches, class_token, positions).double()"))


@wrong("the sequence is built in a tensor on the CPU whatever the inputs' device is", kind="numerics")
def on_the_cpu(patches, class_token, positions):
    B, N, D = patches.shape
    X = torch.empty(B, N + 1, D, dtype=patches.dtype, device="cpu")
    X[:, 0] = class_token
    X[:, 1:] = patches
    return X + positions


@wrong("the patches are recovered as differences of a cumulative sum over the tokens, which loses small numbers "
       "beside large ones", kind="numerics")
def differences_of_sums(patches, class_token, positions):
    sums = _plain(patches, class_token, positions).cumsum(1)
    return sums.diff(dim=1, prepend=torch.zeros_like(sums[:, :1]))


change(_in_one_call, "clamped", "the result is clamped to -1e4 to 1e4", "numerics",
       ("_plain(patches, class_token, positions)", "_plain(patches, class_token, positions).clamp(-1e4, 1e4)"))
change(_in_one_call, "small_positions_vanish", "positions below 1e-5 in absolute value are taken for 0", "numerics",
       ("_plain(patches, class_token, positions)", "_plain(patches, class_token, F.hardshrink(positions, 1e-5))"))


@wrong("the sum is computed as log(exp(a)*exp(b)), which overflows for large numbers and gives -inf for very "
       "negative ones", kind="numerics")
def by_exponentials(patches, class_token, positions):
    tokens = _plain(patches, class_token, torch.zeros_like(positions))
    return (tokens.exp() * positions.exp()).log()


change(_in_one_call, "class_token_detached", "the class token is detached: it gets no gradient", "gradient",
       ("_plain(patches, class_token, positions)", "_plain(patches, class_token.detach(), positions)"))
change(_in_one_call, "positions_detached", "the positions are detached: they get no gradient", "gradient",
       ("_plain(patches, class_token, positions)", "_plain(patches, class_token, positions.data)"))
change(_in_one_call, "patches_detached", "the patches are detached: no gradient flows to them", "gradient",
       ("_plain(patches, class_token, positions)", "_plain(patches.detach(), class_token, positions)"))


@wrong("the class token is rebuilt by torch.tensor from its numbers, in the patches' type, so it gets no gradient "
       "(and on another device it raises)", kind="gradient")
def class_token_rebuilt(patches, class_token, positions):
    return _plain(patches, torch.tensor([number.item() for number in class_token], dtype=patches.dtype), positions)


@wrong("the class token gets its gradient from the first image only; for the others it is a copy without one",
       kind="gradient")
def gradient_of_the_first_image(patches, class_token, positions):
    tokens = [class_token] + [class_token.detach()] * (len(patches) - 1)
    return torch.cat([torch.stack(tokens)[:, None], patches], dim=1) + positions


@wrong("the sum is computed under torch.no_grad, so no gradient flows at all", kind="gradient")
def without_gradient(patches, class_token, positions):
    with torch.no_grad():
        return _plain(patches, class_token, positions)


@wrong("the position of the class token is a constant: positions[0] gets no gradient", kind="gradient")
def first_position_constant(patches, class_token, positions):
    return _plain(patches, class_token, torch.cat([positions[:1].detach(), positions[1:]]))


# ----------------------------------------------------------------------------------------------------- wrong: interface


@wrong("the given patches are changed: their positions are added to them in place", kind="interface")
def patches_in_place(patches, class_token, positions):
    with torch.no_grad():
        patches.add_(positions[1:])
    return torch.cat([(class_token + positions[0]).expand(len(patches), 1, -1), patches], dim=1)


@wrong("the given class token is changed: its position is added to it in place, so a second call gives another result",
       kind="interface")
def class_token_in_place(patches, class_token, positions):
    with torch.no_grad():
        class_token += positions[0]
    return torch.cat([class_token.expand(len(patches), 1, -1), patches + positions[1:]], dim=1)


@wrong("the given positions are changed: the class token is added to their first row in place", kind="interface")
def positions_in_place(patches, class_token, positions):
    with torch.no_grad():
        positions[0].add_(class_token)
    return torch.cat([positions[:1].expand(len(patches), 1, -1), patches + positions[1:]], dim=1)


change(_plain, "axes_for_the_class_token",
       "the class token comes back with the shape [1, 1, D]: unsqueeze_ adds axes to the given tensor", "interface",
       ("B, N, D = patches.shape", "class_token.unsqueeze_(0).unsqueeze_(0)"), ("B, 1, D", "len(patches), -1, -1"))


@wrong("returns a tuple of the class token's sequence and that of the patches", kind="interface")
def in_two_parts(patches, class_token, positions):
    X = _plain(patches, class_token, positions)
    return X[:, :1], X[:, 1:]


change(_in_one_call, "list_of_sequences", "returns a list with one sequence for each image", "interface",
       ("_plain(patches, class_token, positions)", "list(_plain(patches, class_token, positions))"))


@wrong("the class token comes first in the arguments, so calls by position exchange it with the patches",
       kind="interface")
def class_token_first(class_token, patches, positions):
    return _plain(patches, class_token, positions)


@right("the arguments are called x, cls and pos, so calls by name fail")
def other_names(x, cls, pos):
    return _plain(x, cls, pos)


@wrong("the positions can be given by name only", kind="interface")
def positions_by_name_only(patches, class_token, *, positions):
    return _plain(patches, class_token, positions)


_kept = {}


@wrong("the class token and the positions of the first call with their shape are kept and used in later calls",
       kind="interface")
def kept_from_the_first_call(patches, class_token, positions):
    key = (positions.shape, positions.dtype, positions.device)
    class_token, positions = _kept.setdefault(key, (class_token.clone(), positions.clone()))
    return _plain(patches, class_token, positions)


_count = [0]


@wrong("the positions are added only in the first call, the third, the fifth and so on", kind="interface")
def each_second_call(patches, class_token, positions):
    _count[0] += 1
    return _plain(patches, class_token, positions if _count[0] % 2 else torch.zeros_like(positions))
