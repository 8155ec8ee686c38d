"""Exercise 7, a stretch: smaller weights, without the heads that are not kept."""

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise


def _drawn(inputs, sizes, rng):
    """The first head, not the second, and the last; of those between them some."""
    keep = rng.random(sizes["H"]) < 0.5
    keep[0] = keep[-1] = True
    keep[1:2] = False
    return {"keep": keep}


def _one(inputs, rng):
    keep = inputs["keep"]
    keep[:] = np.arange(len(keep)) == rng.integers(1, len(keep) - 1)


def _not_the_first(inputs, rng):
    inputs["keep"][:2] = False, True


def _all(inputs, rng):
    inputs["keep"][:] = True


@exercise(
    points=0,
    section="What each head contributes",
    source="Michel, Levy and Neubig 2019",
    outputs="W_Q_kept W_K_kept W_V_kept W_O_kept",
    formula="W_Q_kept, W_K_kept, W_V_kept [D, K*D_H]: the columns of W_Q, W_K, W_V that belong to the K heads kept; W_O_kept"
    " [K*D_H, D]: the rows of W_O that belong to them; all in their old order",
    cases=[
        Case("some of several heads"),
        Case("more heads than features in a head", sizes={"H": 6, "D_H": 2}),
        Case("one of several heads", sizes={"H": 5}, edit=_one),
        Case("without the first head", sizes={"H": 4}, edit=_not_the_first),
        Case("all heads", edit=_all),
        Case("a layer of one head", sizes={"H": 1}),
    ],
    draws=_drawn,
)
def prune_heads(
    W_Q: Float[Tensor, "D H*D_H"],
    W_K: Float[Tensor, "D H*D_H"],
    W_V: Float[Tensor, "D H*D_H"],
    W_O: Float[Tensor, "H*D_H D"],
    keep: Bool[Tensor, "H"],
) -> tuple[Float[Tensor, "D K*D_H"], Float[Tensor, "D K*D_H"], Float[Tensor, "D K*D_H"], Float[Tensor, "K*D_H D"]]:
    features = torch.arange(len(W_O), device=W_O.device).chunk(len(keep))  # those of each head
    kept = torch.cat([own for own, is_kept in zip(features, keep) if is_kept])
    return W_Q.index_select(1, kept), W_K.index_select(1, kept), W_V.index_select(1, kept), W_O.index_select(0, kept)


def _pruned(W_Q, W_K, W_V, W_O, columns):
    """The weights with those features of the heads alone."""
    return W_Q[:, columns], W_K[:, columns], W_V[:, columns], W_O[columns]


def _of(keep, W_O):
    """True at each feature, of all heads side by side, that belongs to a head that is kept."""
    return keep.repeat_interleave(len(W_O) // len(keep))


@prune_heads.misconception
def zeros_in_their_place(W_Q, W_K, W_V, W_O, keep):
    """The weights of the other heads are 0, but still there. The layer gives the right outputs, and costs as much as before.
    Leave them out, so that the matrices are smaller: K*D_H in the place of H*D_H."""
    kept = _of(keep, W_O)
    return W_Q * kept, W_K * kept, W_V * kept, W_O * kept[:, None]


@prune_heads.misconception
def output_projection_whole(W_Q, W_K, W_V, W_O, keep):
    """W_O is as large as before. The heads that are left make vectors of width K*D_H, which no longer fit it: the rows of W_O
    that the other heads have met go as well."""
    return *_pruned(W_Q, W_K, W_V, W_O, _of(keep, W_O))[:3], W_O.clone()


@prune_heads.misconception
def queries_and_keys_whole(W_Q, W_K, W_V, W_O, keep):
    """W_V and W_O were made smaller, W_Q and W_K were not. A head without values needs no attention weights, and so no
    queries and keys: leave out its columns of W_Q and W_K as well."""
    return W_Q.clone(), W_K.clone(), *_pruned(W_Q, W_K, W_V, W_O, _of(keep, W_O))[2:]


@prune_heads.misconception
def heads_take_turns(W_Q, W_K, W_V, W_O, keep):
    """The columns and rows were taken as if the heads took turns: head h those numbered h, h + H, h + 2H and so on. The D_H
    features of a head are neighbours, from h·D_H on."""
    return _pruned(W_Q, W_K, W_V, W_O, keep.repeat(len(W_O) // len(keep)))


@prune_heads.misconception
def a_column_for_each_head(W_Q, W_K, W_V, W_O, keep):
    """Each head that is kept has one column and one row: the head's number was taken for that of a feature. Head h owns D_H
    columns of W_Q, W_K and W_V, and D_H rows of W_O, from h·D_H on."""
    return _pruned(W_Q, W_K, W_V, W_O, keep.nonzero()[:, 0])


@prune_heads.misconception
def first_features(W_Q, W_K, W_V, W_O, keep):
    """The shapes are right, but these are the first K*D_H columns and rows, whichever heads are to be kept. Head h owns those
    from h·D_H on."""
    return _pruned(W_Q, W_K, W_V, W_O, slice(int(_of(keep, W_O).sum())))


@prune_heads.misconception
def made_up_for(W_Q, W_K, W_V, W_O, keep):
    """W_O was multiplied by H/K, to make up for the heads that are missing, as dropout does. The smaller layer is asked to give
    exactly what the contributions of the heads kept sum to, so no number changes."""
    *projections, rows = _pruned(W_Q, W_K, W_V, W_O, _of(keep, W_O))
    return *projections, rows * (len(keep) / keep.sum())


@prune_heads.misconception
def an_axis_for_the_heads(W_Q, W_K, W_V, W_O, keep):
    """The heads have an axis of their own, [K, D, D_H] and [K, D_H, D]. The smaller layer has the form of the larger one: all
    columns side by side, [D, K*D_H], all rows one below the other, [K*D_H, D]."""
    columns = (W.unflatten(1, (len(keep), -1)).transpose(0, 1)[keep] for W in (W_Q, W_K, W_V))
    return *columns, W_O.unflatten(0, (len(keep), -1))[keep]


@prune_heads.misconception
def cut_by_one_reshape(W_Q, W_K, W_V, W_O, keep):
    """W_Q, W_K and W_V were reshaped to [H, D, D_H] at once. A reshape does not move numbers: what is then called a head are some
    of the rows, with the columns of all heads. Cut the last axis, [D, H, D_H]; then the heads are the axis in the middle."""
    H, D = len(keep), len(W_Q)
    columns = (W.reshape(H, D, -1)[keep].transpose(0, 1).flatten(1) for W in (W_Q, W_K, W_V))
    return *columns, W_O[_of(keep, W_O)]


@prune_heads.misconception
def put_back_by_one_reshape(W_Q, W_K, W_V, W_O, keep):
    """The right heads were cut out, and then reshaped from [K, D, D_H] to [D, K*D_H] at once. A reshape does not move numbers,
    so that a row now holds pieces of several rows. Exchange the first two axes before."""
    H, D = len(keep), len(W_Q)
    columns = (W.unflatten(1, (H, -1)).transpose(0, 1)[keep].reshape(D, -1) for W in (W_Q, W_K, W_V))
    return *columns, W_O[_of(keep, W_O)]


@prune_heads.alternative
def an_axis_of_heads(W_Q, W_K, W_V, W_O, keep):
    columns = (W.unflatten(1, (len(keep), -1))[:, keep].flatten(1) for W in (W_Q, W_K, W_V))
    return *columns, W_O.unflatten(0, (len(keep), -1))[keep].flatten(0, 1)


@prune_heads.alternative
def pieces_put_together(W_Q, W_K, W_V, W_O, keep):
    heads = [h for h, kept in enumerate(keep.tolist()) if kept]
    width = W_Q.shape[1] // len(keep)
    made = [torch.cat([W[:, h * width : (h + 1) * width] for h in heads], dim=1) for W in (W_Q, W_K, W_V)]
    return *made, torch.cat([W_O[h * width : (h + 1) * width] for h in heads])


@prune_heads.alternative
def by_a_selecting_matrix(W_Q, W_K, W_V, W_O, keep):
    chosen = torch.eye(len(W_O), dtype=W_O.dtype, device=W_O.device)[:, _of(keep, W_O)]  # [H*D_H, K*D_H]
    return W_Q @ chosen, W_K @ chosen, W_V @ chosen, chosen.T @ W_O
