"""Answers to matching_batch (assignment 16)."""

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong

# ---------------------------------------------------------------- right


@right("three blocks each, put behind one another")
def three_blocks(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    N = len(images)
    return V, T, torch.cat([images.new_ones(N), images.new_zeros(2 * N)]).long()


@right("3N numbers of pictures and texts first, then one index_select each")
def by_numbers(images, texts, image_negatives, text_negatives):
    own = torch.arange(images.shape[0], device=images.device)
    which_images = torch.cat([own, image_negatives, own])
    which_texts = torch.cat([own, own, text_negatives])
    labels = (torch.arange(3 * len(own), device=own.device) // len(own) == 0).long()
    return images.index_select(0, which_images), texts.index_select(0, which_texts), labels


@right("Filled into empty tensors, block by block")
def filled(images, texts, image_negatives, text_negatives):
    N = images.size(0)
    V = images.new_empty((3 * N, *images.shape[1:]))
    T = texts.new_empty((3 * N, texts.size(1)))
    labels = torch.zeros(3 * N, dtype=torch.int64, device=images.device)
    V[:N], V[N : 2 * N], V[2 * N :] = images, images[image_negatives], images
    T[:N], T[N : 2 * N], T[2 * N :] = texts, texts, texts[text_negatives]
    labels[:N] = 1
    return V, T, labels


@right("Lists of pairs in Python loops, stacked")
def lists_of_pairs(images, texts, image_negatives, text_negatives):
    pairs = [(v, t, 1) for v, t in zip(images, texts)]
    pairs += [(images[int(i)], t, 0) for i, t in zip(image_negatives, texts)]
    pairs += [(v, texts[int(j)], 0) for v, j in zip(images, text_negatives)]
    V, T, labels = zip(*pairs)
    return torch.stack(V), torch.stack(T), torch.tensor(labels, device=images.device)


@right("Pictures looked up by embedding, texts by take_along_dim; labels by comparing with N")
def looked_up(images, texts, image_negatives, text_negatives):
    N, M, D = images.shape
    places = torch.arange(3 * N, device=images.device)
    own = places[:N]
    numbers = torch.cat([own, image_negatives.long(), own])
    V = F.embedding(numbers, images.reshape(N, M * D)).reshape(3 * N, M, D)
    T = torch.take_along_dim(texts, torch.cat([own, own, text_negatives.long()])[:, None], dim=0)
    return V, T, (places < N).to(torch.int64)


@right("Stacked to [3, N, ...] and flattened")
def stacked(images, texts, image_negatives, text_negatives):
    V = torch.stack((images, images[image_negatives, :, :], images), dim=0).flatten(0, 1)
    T = torch.stack((texts, texts, texts[text_negatives, :]), dim=0).flatten(0, 1)
    one = torch.ones_like(image_negatives, dtype=torch.long)
    return V, T, torch.stack((one, 0 * one, 0 * one)).flatten()


@right("All three repeated, the wrong partners written over the copies; one_hot for the labels")
def written_over(images, texts, image_negatives, text_negatives):
    N = images.shape[0]
    V, T = images.repeat(3, 1, 1), texts.repeat(3, 1)
    V[N : 2 * N] = images[image_negatives]
    T[-N:] = texts[text_negatives]
    kinds = torch.arange(3, device=images.device).repeat_interleave(N)
    return V, T, F.one_hot(kinds, 3)[:, 0]


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, rows):
        ctx.save_for_backward(rows)
        ctx.N = len(x)
        return x.index_select(0, rows)

    @staticmethod
    def backward(ctx, slope):
        (rows,) = ctx.saved_tensors
        return slope.new_zeros(ctx.N, *slope.shape[1:]).index_add(0, rows, slope), None


@right("A function of autograd picks the rows, its gradient written down")
def own_gradient(images, texts, image_negatives, text_negatives):
    own = torch.arange(len(images), device=images.device)
    T = texts[torch.hstack([own, own, text_negatives])]
    labels = torch.ones_like(own).new_tensor([1, 0, 0]).repeat_interleave(len(own))
    return _Rows.apply(images, torch.hstack([own, image_negatives, own])), T, labels


# Right, and not registered: answers below are changes of it.
def _plain(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    labels = torch.zeros(len(V), dtype=torch.long, device=V.device)
    labels[: len(images)] = 1
    return V, T, labels


# ---------------------------------------------------------------- wrong: concepts


change(_plain, "blocks_exchanged",
       "the blocks of wrong pairs are exchanged: wrong captions second, wrong pictures third", "concept",
       ("images[image_negatives], images", "images, images[image_negatives]"),
       ("texts, texts[text_negatives]", "texts[text_negatives], texts"))
change(_plain, "right_pairs_last", "the right pairs stand last, with their labels", "concept",
       ("images, images[image_negatives]", "images[image_negatives], images"),
       ("texts, texts[text_negatives]", "texts[text_negatives], texts"),
       ("labels[: len(images)]", "labels[-len(images) :]"))
change(_plain, "negatives_exchanged",
       "the two negatives are exchanged: pictures are taken by text_negatives and texts by image_negatives", "concept",
       ("images[image_negatives]", "images[text_negatives]"), ("texts[text_negatives]", "texts[image_negatives]"))
change(_plain, "one_kind_of_negatives", "image_negatives serve for both; text_negatives are not used", "concept",
       ("texts[text_negatives]", "texts[image_negatives]"))
change(_plain, "caption_brought_along",
       "the wrong picture brings its own caption along: the second block's pairs are right ones", "concept",
       ("texts, texts", "texts, texts[image_negatives]"))
change(_plain, "both_wrong", "a wrong picture stands beside a wrong caption in the second block", "concept",
       ("texts, texts", "texts, texts[text_negatives]"))
change(_plain, "neighbours",
       "neighbours (rolled by one) are taken as negatives; the given ones are not used", "concept",
       ("images[image_negatives]", "images.roll(1, 0)"), ("texts[text_negatives]", "texts.roll(1, 0)"))
change(_plain, "other_way_round",
       "the negatives are read the other way round: picture n is put to place image_negatives[n]", "concept",
       ("images[image_negatives]", "torch.zeros_like(images).index_put((image_negatives,), images)"),
       ("texts[text_negatives]", "texts.index_put((text_negatives,), texts)"))
change(_plain, "sorted_negatives", "negatives are sorted first", "concept",
       ("images[image_negatives]", "images[image_negatives.sort().values]"),
       ("texts[text_negatives]", "texts[text_negatives.sort().values]"))
change(_plain, "counted_from_one", "negatives are counted from 1 (the place before the named one is taken)", "concept",
       ("images[image_negatives]", "images[image_negatives - 1]"),
       ("texts[text_negatives]", "texts[text_negatives - 1]"))
change(_plain, "labels_turned_round",
       "the labels are turned round: 0 for pairs as they are, 1 for wrong ones", "concept",
       (".zeros", ".ones"), ("labels[: len(images)] = 1", "labels[: len(images)] = 0"))


# Right, and not registered: answers below are changes of it.
def _labels_repeated(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))


change(_labels_repeated, "three_classes", "the two kinds of wrong pairs get different labels, 0 and 2", "concept",
       ("1, 0, 0", "1, 0, 2"))
change(_labels_repeated, "minus_one", "wrong pairs get the label −1", "concept",
       ("1, 0, 0", "1, -1, -1"))
change(_labels_repeated, "labels_by_words",
       "wrong pairs whose texts read the same as the right one get the label 1", "concept",
       before("return", "true = torch.cat([texts, texts[image_negatives], texts])"),
       ("torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))", "(T == true).all(1).long()"))
change(_plain, "wrong_pictures_only", "the wrong captions' block is missing: 2N pairs", "concept",
       ("images[image_negatives], images", "images[image_negatives]"), ("texts, texts[text_negatives]", "texts"))
change(_plain, "fourth_block", "a fourth block, wrong picture beside wrong caption, is added", "concept",
       ("images[image_negatives], images", "images[image_negatives], images, images[image_negatives]"),
       ("texts[text_negatives]", "texts[text_negatives], texts[text_negatives]"))
change(_plain, "looked_up_twice", "the text negatives are looked up through the image negatives", "concept",
       ("texts[text_negatives]", "texts[image_negatives[text_negatives]]"))
change(_plain, "wrong_pictures_twice",
       "the third block holds the wrong pictures again, beside the wrong captions", "concept",
       before("V =", "wrong_images = images[image_negatives]"),
       ("images[image_negatives], images", "wrong_images, wrong_images"))


# ---------------------------------------------------------------- wrong: shapes


@wrong("interleaved: the three pairs of each n stand behind one another (labels fit)", kind="shape")
def interleaved(images, texts, image_negatives, text_negatives):
    V = torch.stack([images, images[image_negatives], images], dim=1).flatten(0, 1)
    T = torch.stack([texts, texts, texts[text_negatives]], dim=1).flatten(0, 1)
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat(len(images))


change(_labels_repeated, "labels_interleaved",
       "labels repeat as 1, 0, 0, 1, 0, 0, ..., though the pairs stand in blocks", "shape",
       (".repeat_interleave", ".repeat"))
change(_plain, "labels_off_by_a_block", "the first 2N labels are 1", "shape",
       ("len(images)", "2 * len(images)"))
change(_plain, "cells_counted", "N is read from the wrong axis (the cells), so that M labels are 1", "shape",
       ("len(images)", "images.shape[1]"))
change(_plain, "column_of_labels", "labels come as a column [3N, 1]", "shape",
       ("dtype", "1, dtype"))
change(_labels_repeated, "blocks_not_joined", "V and T come as [3, N, ...], the blocks not joined", "shape",
       ("torch.cat", "torch.stack", 2))
change(_labels_repeated, "joined_along_cells", "pictures are joined along the cells: V is [N, 3M, D]", "shape",
       ("[images, images[image_negatives], images]", "[images, images[image_negatives], images], dim=1"))
change(_labels_repeated, "flattened", "cells and features are joined: V is [3N, M D]", "shape",
       ("torch.cat([images, images[image_negatives], images])",
        "torch.cat([images, images[image_negatives], images]).flatten(1)"))


@wrong("squeeze() on V and T: with M = 1, D = 1 or L = 1 an axis is lost", kind="edge")
def squeezed(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images]).squeeze()
    T = torch.cat([texts, texts, texts[text_negatives]]).squeeze()
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))


change(_labels_repeated, "first_token_lost",
       "texts lose their first token (as if it were exchanged for another mark)", "shape",
       ("torch.cat([texts, texts, texts[text_negatives]])", "torch.cat([texts, texts, texts[text_negatives]])[:, 1:]"))
change(_labels_repeated, "first_cell_for_all", "gather takes the wrong picture's first cell for all its cells", "shape",
       before("V =", "taken = images[image_negatives][:, :1].expand_as(images)"), ("images[image_negatives]", "taken"))


@wrong("view on the pictures fails for a transposed layout", kind="layout")
def by_view(images, texts, image_negatives, text_negatives):
    N, M, D = images.shape
    flat = images.view(N, M * D)
    V = torch.cat([flat, flat[image_negatives], flat]).view(3 * N, M, D)
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(N)


change(_labels_repeated, "texts_by_view", "view on the texts fails for a transposed layout", "layout",
       before("T =", """
        L = texts.shape[1]
        wrong_texts = texts.view(-1)[text_negatives[:, None] * L + torch.arange(L, device=texts.device)]"""),
       ("texts[text_negatives]", "wrong_texts"))


# ---------------------------------------------------------------- wrong: gradients


change(_labels_repeated, "wrong_pictures_detached",
       "the wrong pictures are detached: no gradient from the second block", "gradient",
       ("images[image_negatives]", "images[image_negatives].detach()"))


@wrong("V is made under no_grad", kind="gradient")
@torch.no_grad()
def no_gradient(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))


change(_labels_repeated, "right_pairs_learn_only",
       "only the pairs as they are carry gradients; both wrong blocks are detached", "gradient",
       before("V =", "fixed = images.detach()"), ("images[image_negatives], images", "fixed[image_negatives], fixed"))


class _Forgetful(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, rows):
        ctx.save_for_backward(rows)
        return x[rows]

    @staticmethod
    def backward(ctx, slope):
        (rows,) = ctx.saved_tensors
        back = torch.zeros_like(slope)
        back[rows] = slope
        return back, None


change(_labels_repeated, "gradient_overwritten",
       "the gradient of a picture drawn twice as negative is overwritten, not added", "gradient",
       ("images[image_negatives]", "_Forgetful.apply(images, image_negatives)"))


# ---------------------------------------------------------------- wrong: types, interface


change(three_blocks, "floating_labels", "labels come as floating numbers", "interface",
       (".cat([images.new_ones(N), images.new_zeros(2 * N)]).long()",
        ".cat([torch.ones(N, device=V.device), torch.zeros(2 * N, device=V.device)])"))
change(_labels_repeated, "boolean_labels", "labels come as Booleans", "interface",
       (".tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))",
        ".arange(len(V), device=V.device) < len(images)"))
change(_labels_repeated, "labels_on_the_cpu", "labels stand on the CPU whatever the inputs' device", "interface",
       ("[1, 0, 0], device=V.device", "[1, 0, 0]"))


@wrong("V is filled into zeros of float32, whatever the pictures' type", kind="interface")
def always_float(images, texts, image_negatives, text_negatives):
    N, M, D = images.shape
    V = torch.zeros(3 * N, M, D, device=images.device)
    V[:N], V[N : 2 * N], V[2 * N :] = images, images[image_negatives], images
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(N)


change(_labels_repeated, "floating_texts", "texts come as floating numbers", "interface",
       ("torch.cat([texts, texts, texts[text_negatives]])",
        "torch.cat([texts, texts, texts[text_negatives]]).to(images.dtype)"))
change(_labels_repeated, "tokens_rounded", "tokens travel through bfloat16, which rounds numbers above 256", "numerics",
       ("torch.cat([texts, texts, texts[text_negatives]])",
        "torch.cat([texts, texts, texts[text_negatives]]).bfloat16().to(texts.dtype)"))
change(_labels_repeated, "picked_by_a_product", "wrong pictures are picked by a product with one-hot rows in float32, "
       "so that float64 loses its digits", "numerics",
       before("V =", """
        rows = F.one_hot(image_negatives.long(), len(images)).float()
        picked = torch.einsum("nk,kmd->nmd", rows, images.float()).to(images.dtype)"""),
       ("images[image_negatives]", "picked"))
change(_labels_repeated, "texts_overwritten",
       "the wrong captions are written into the texts that were handed in", "interface",
       ("texts, texts[text_negatives]", "texts"), before("return", "texts.copy_(texts[text_negatives].clone())"),
       ("V, T", "V, torch.cat([T, texts])"))


@wrong("the negatives handed in are moved by N in place, to count within [images; images]", kind="interface")
def negatives_overwritten(images, texts, image_negatives, text_negatives):
    N = len(images)
    own = torch.arange(N, device=images.device)
    image_negatives += N
    V = torch.cat([images, images])[torch.cat([own, image_negatives, own])]
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(N)


change(_labels_repeated, "labels_first", "labels come first in the tuple", "interface",
       ("V, T, torch.tensor", "torch.tensor"),
       (".repeat_interleave(len(images))", ".repeat_interleave(len(images)), V, T"))
change(_labels_repeated, "without_labels", "the labels are missing: only V and T come back", "interface",
       ("T = torch.cat", "return V, torch.cat"),
       ("return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))", ""))
