"""Answers to matching_batch (assignment 16)."""

import torch
import torch.nn.functional as F
from answers import right, wrong

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


# ---------------------------------------------------------------- wrong: concepts


@wrong("the blocks of wrong pairs are exchanged: wrong captions second, wrong pictures third", kind="concept")
def blocks_exchanged(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images, images[image_negatives]])
    T = torch.cat([texts, texts[text_negatives], texts])
    labels = torch.zeros(len(V), dtype=torch.long, device=V.device)
    labels[: len(images)] = 1
    return V, T, labels


@wrong("the right pairs stand last, with their labels", kind="concept")
def right_pairs_last(images, texts, image_negatives, text_negatives):
    V = torch.cat([images[image_negatives], images, images])
    T = torch.cat([texts, texts[text_negatives], texts])
    labels = torch.zeros(len(V), dtype=torch.long, device=V.device)
    labels[-len(images) :] = 1
    return V, T, labels


@wrong(
    "the two negatives are exchanged: pictures are taken by text_negatives and texts by image_negatives", kind="concept"
)
def negatives_exchanged(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[text_negatives], images])
    T = torch.cat([texts, texts, texts[image_negatives]])
    labels = torch.zeros(len(V), dtype=torch.long, device=V.device)
    labels[: len(images)] = 1
    return V, T, labels


@wrong("image_negatives serve for both; text_negatives are not used", kind="concept")
def one_kind_of_negatives(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[image_negatives]])
    labels = torch.zeros(len(V), dtype=torch.long, device=V.device)
    labels[: len(images)] = 1
    return V, T, labels


@wrong("the wrong picture brings its own caption along: the second block's pairs are right ones", kind="concept")
def caption_brought_along(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts[image_negatives], texts[text_negatives]])
    labels = torch.zeros(len(V), dtype=torch.long, device=V.device)
    labels[: len(images)] = 1
    return V, T, labels


@wrong("a wrong picture stands beside a wrong caption in the second block", kind="concept")
def both_wrong(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts[text_negatives], texts[text_negatives]])
    labels = torch.zeros(len(V), dtype=torch.long, device=V.device)
    labels[: len(images)] = 1
    return V, T, labels


@wrong("neighbours (rolled by one) are taken as negatives; the given ones are not used", kind="concept")
def neighbours(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images.roll(1, 0), images])
    T = torch.cat([texts, texts, texts.roll(1, 0)])
    labels = torch.zeros(len(V), dtype=torch.long, device=V.device)
    labels[: len(images)] = 1
    return V, T, labels


@wrong("the negatives are read the other way round: picture n is put to place image_negatives[n]", kind="concept")
def other_way_round(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, torch.zeros_like(images).index_put((image_negatives,), images), images])
    T = torch.cat([texts, texts, texts.index_put((text_negatives,), texts)])
    labels = torch.zeros(len(V), dtype=torch.long, device=V.device)
    labels[: len(images)] = 1
    return V, T, labels


@wrong("negatives are sorted first", kind="concept")
def sorted_negatives(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives.sort().values], images])
    T = torch.cat([texts, texts, texts[text_negatives.sort().values]])
    labels = torch.zeros(len(V), dtype=torch.long, device=V.device)
    labels[: len(images)] = 1
    return V, T, labels


@wrong("negatives are counted from 1 (the place before the named one is taken)", kind="concept")
def counted_from_one(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives - 1], images])
    T = torch.cat([texts, texts, texts[text_negatives - 1]])
    labels = torch.zeros(len(V), dtype=torch.long, device=V.device)
    labels[: len(images)] = 1
    return V, T, labels


@wrong("the labels are turned round: 0 for pairs as they are, 1 for wrong ones", kind="concept")
def labels_turned_round(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    labels = torch.ones(len(V), dtype=torch.long, device=V.device)
    labels[: len(images)] = 0
    return V, T, labels


@wrong("the two kinds of wrong pairs get different labels, 0 and 2", kind="concept")
def three_classes(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 2], device=V.device).repeat_interleave(len(images))


@wrong("wrong pairs get the label −1", kind="concept")
def minus_one(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, -1, -1], device=V.device).repeat_interleave(len(images))


@wrong("wrong pairs whose texts read the same as the right one get the label 1", kind="concept")
def labels_by_words(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    true = torch.cat([texts, texts[image_negatives], texts])
    return V, T, (T == true).all(1).long()


@wrong("the wrong captions' block is missing: 2N pairs", kind="concept")
def wrong_pictures_only(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives]])
    T = torch.cat([texts, texts])
    labels = torch.zeros(len(V), dtype=torch.long, device=V.device)
    labels[: len(images)] = 1
    return V, T, labels


@wrong("a fourth block, wrong picture beside wrong caption, is added", kind="concept")
def fourth_block(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images, images[image_negatives]])
    T = torch.cat([texts, texts, texts[text_negatives], texts[text_negatives]])
    labels = torch.zeros(len(V), dtype=torch.long, device=V.device)
    labels[: len(images)] = 1
    return V, T, labels


@wrong("the text negatives are looked up through the image negatives", kind="concept")
def looked_up_twice(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[image_negatives[text_negatives]]])
    labels = torch.zeros(len(V), dtype=torch.long, device=V.device)
    labels[: len(images)] = 1
    return V, T, labels


@wrong("the third block holds the wrong pictures again, beside the wrong captions", kind="concept")
def wrong_pictures_twice(images, texts, image_negatives, text_negatives):
    wrong_images = images[image_negatives]
    V = torch.cat([images, wrong_images, wrong_images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    labels = torch.zeros(len(V), dtype=torch.long, device=V.device)
    labels[: len(images)] = 1
    return V, T, labels


# ---------------------------------------------------------------- wrong: shapes


@wrong("interleaved: the three pairs of each n stand behind one another (labels fit)", kind="shape")
def interleaved(images, texts, image_negatives, text_negatives):
    V = torch.stack([images, images[image_negatives], images], dim=1).flatten(0, 1)
    T = torch.stack([texts, texts, texts[text_negatives]], dim=1).flatten(0, 1)
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat(len(images))


@wrong("labels repeat as 1, 0, 0, 1, 0, 0, ..., though the pairs stand in blocks", kind="shape")
def labels_interleaved(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat(len(images))


@wrong("the first 2N labels are 1", kind="shape")
def labels_off_by_a_block(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    labels = torch.zeros(len(V), dtype=torch.long, device=V.device)
    labels[: 2 * len(images)] = 1
    return V, T, labels


@wrong("N is read from the wrong axis (the cells), so that M labels are 1", kind="shape")
def cells_counted(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    labels = torch.zeros(len(V), dtype=torch.long, device=V.device)
    labels[: images.shape[1]] = 1
    return V, T, labels


@wrong("labels come as a column [3N, 1]", kind="shape")
def column_of_labels(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    labels = torch.zeros(len(V), 1, dtype=torch.long, device=V.device)
    labels[: len(images)] = 1
    return V, T, labels


@wrong("V and T come as [3, N, ...], the blocks not joined", kind="shape")
def blocks_not_joined(images, texts, image_negatives, text_negatives):
    V = torch.stack([images, images[image_negatives], images])
    T = torch.stack([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))


@wrong("pictures are joined along the cells: V is [N, 3M, D]", kind="shape")
def joined_along_cells(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images], dim=1)
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))


@wrong("cells and features are joined: V is [3N, M D]", kind="shape")
def flattened(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images]).flatten(1)
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))


@wrong("squeeze() on V and T: with M = 1, D = 1 or L = 1 an axis is lost", kind="edge")
def squeezed(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images]).squeeze()
    T = torch.cat([texts, texts, texts[text_negatives]]).squeeze()
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))


@wrong("texts lose their first token (as if it were exchanged for another mark)", kind="shape")
def first_token_lost(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]])[:, 1:]
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))


@wrong("gather takes the wrong picture's first cell for all its cells", kind="shape")
def first_cell_for_all(images, texts, image_negatives, text_negatives):
    taken = images[image_negatives][:, :1].expand_as(images)
    V = torch.cat([images, taken, images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))


@wrong("view on the pictures fails for a transposed layout", kind="layout")
def by_view(images, texts, image_negatives, text_negatives):
    N, M, D = images.shape
    flat = images.view(N, M * D)
    V = torch.cat([flat, flat[image_negatives], flat]).view(3 * N, M, D)
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(N)


@wrong("view on the texts fails for a transposed layout", kind="layout")
def texts_by_view(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    L = texts.shape[1]
    wrong_texts = texts.view(-1)[text_negatives[:, None] * L + torch.arange(L, device=texts.device)]
    T = torch.cat([texts, texts, wrong_texts])
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))


# ---------------------------------------------------------------- wrong: gradients


@wrong("the wrong pictures are detached: no gradient from the second block", kind="gradient")
def wrong_pictures_detached(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives].detach(), images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))


@wrong("V is made under no_grad", kind="gradient")
@torch.no_grad()
def no_gradient(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))


@wrong("only the pairs as they are carry gradients; both wrong blocks are detached", kind="gradient")
def right_pairs_learn_only(images, texts, image_negatives, text_negatives):
    fixed = images.detach()
    V = torch.cat([images, fixed[image_negatives], fixed])
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))


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


@wrong("the gradient of a picture drawn twice as negative is overwritten, not added", kind="gradient")
def gradient_overwritten(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, _Forgetful.apply(images, image_negatives), images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))


# ---------------------------------------------------------------- wrong: types, interface


@wrong("labels come as floating numbers", kind="interface")
def floating_labels(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    N = len(images)
    return V, T, torch.cat([torch.ones(N, device=V.device), torch.zeros(2 * N, device=V.device)])


@wrong("labels come as Booleans", kind="interface")
def boolean_labels(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.arange(len(V), device=V.device) < len(images)


@wrong("labels stand on the CPU whatever the inputs' device", kind="interface")
def labels_on_the_cpu(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 0]).repeat_interleave(len(images))


@wrong("V is filled into zeros of float32, whatever the pictures' type", kind="interface")
def always_float(images, texts, image_negatives, text_negatives):
    N, M, D = images.shape
    V = torch.zeros(3 * N, M, D, device=images.device)
    V[:N], V[N : 2 * N], V[2 * N :] = images, images[image_negatives], images
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(N)


@wrong("texts come as floating numbers", kind="interface")
def floating_texts(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]]).to(images.dtype)
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))


@wrong("tokens travel through bfloat16, which rounds numbers above 256", kind="numerics")
def tokens_rounded(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]]).bfloat16().to(texts.dtype)
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))


@wrong(
    "wrong pictures are picked by a product with one-hot rows in float32, so that float64 loses its digits",
    kind="numerics",
)
def picked_by_a_product(images, texts, image_negatives, text_negatives):
    rows = F.one_hot(image_negatives.long(), len(images)).float()
    picked = torch.einsum("nk,kmd->nmd", rows, images.float()).to(images.dtype)
    V = torch.cat([images, picked, images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))


@wrong("the wrong captions are written into the texts that were handed in", kind="interface")
def texts_overwritten(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts])
    texts.copy_(texts[text_negatives].clone())
    return V, torch.cat([T, texts]), torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images))


@wrong("the negatives handed in are moved by N in place, to count within [images; images]", kind="interface")
def negatives_overwritten(images, texts, image_negatives, text_negatives):
    N = len(images)
    own = torch.arange(N, device=images.device)
    image_negatives += N
    V = torch.cat([images, images])[torch.cat([own, image_negatives, own])]
    T = torch.cat([texts, texts, texts[text_negatives]])
    return V, T, torch.tensor([1, 0, 0], device=V.device).repeat_interleave(N)


@wrong("labels come first in the tuple", kind="interface")
def labels_first(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    T = torch.cat([texts, texts, texts[text_negatives]])
    return torch.tensor([1, 0, 0], device=V.device).repeat_interleave(len(images)), V, T


@wrong("the labels are missing: only V and T come back", kind="interface")
def without_labels(images, texts, image_negatives, text_negatives):
    V = torch.cat([images, images[image_negatives], images])
    return V, torch.cat([texts, texts, texts[text_negatives]])
