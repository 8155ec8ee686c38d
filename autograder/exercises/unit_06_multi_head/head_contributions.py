"""Exercise 4: what each head adds to the output of multi-head attention."""

import torch
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise

ONE, SEVERAL = "one head", "several heads"


def _drawn(inputs, sizes, rng):
    return {"A": torch.from_numpy(inputs["A"]).softmax(dim=-1).numpy()}


@exercise(
    points={ONE: 1, SEVERAL: 3},
    section="What each head contributes",
    source="Elhage et al. 2021, section “Attention Heads are Independent and Additive”",
    outputs="C",
    formula="C_h = A_h V_h W_O^h for each head h, where W_O^h [D_H, D_Y] are the rows of W_O from h·D_H on; C [B, H, N_Q, D_Y]",
    cases=[
        Case("a batch, several heads", part=SEVERAL),
        Case("more heads than features in a head", sizes={"H": 6, "D_H": 2}, part=SEVERAL),
        Case("one head", sizes={"H": 1}, part=ONE),
    ],
    draws=_drawn,
)
def head_contributions(
    A: Float[Tensor, "B H N_Q N_X"], V: Float[Tensor, "B H N_X D_H"], W_O: Float[Tensor, "H*D_H D_Y"]
) -> Float[Tensor, "B H N_Q D_Y"]:
    heads = zip(A.unbind(dim=1), V.unbind(dim=1), W_O.split(V.shape[-1]))  # W_O in pieces of D_H rows
    return torch.stack([weights @ values @ rows for weights, values, rows in heads], dim=1)


def _contributions(A, V, W_O):
    return A @ V @ _rows(V, W_O)


def _rows(V, W_O):
    """The rows of W_O that belong to each head, [H, D_H, D_Y]."""
    return W_O.unflatten(0, (V.shape[1], -1))


@head_contributions.misconception
def summed_already(A, V, W_O):
    """This is the output of the whole layer, [B, N_Q, D_Y]: the contributions of all heads are summed in it. They are asked
    for one by one, before the sum."""
    return _contributions(A, V, W_O).sum(dim=1)


@head_contributions.misconception
def whole_output_for_each_head(A, V, W_O):
    """Every head is credited with the output of the whole layer. A head's contribution is what its own D_H rows of W_O make
    of its own A_h V_h, so that the contributions sum to the output."""
    return _contributions(A, V, W_O).sum(dim=1, keepdim=True).expand(-1, V.shape[1], -1, -1)


@head_contributions.misconception
def equal_shares(A, V, W_O):
    """Every head is credited with the same share, the layer's output divided by H. The heads add different vectors: each
    one's is what its own D_H rows of W_O make of its own A_h V_h."""
    return _contributions(A, V, W_O).mean(dim=1, keepdim=True).expand(-1, V.shape[1], -1, -1)


@head_contributions.misconception
def output_without_the_head(A, V, W_O):
    """Each entry is the layer's output without that head, the sum of all others. What the head adds is the rest: the output
    with it minus the output without it, A_h V_h W_O^h."""
    C = _contributions(A, V, W_O)
    return C.sum(dim=1, keepdim=True) - C


@head_contributions.misconception
def shares_of_the_sum(A, V, W_O):
    """The contributions are divided by their sum over the heads. A contribution is no share that would add up to 1, but a
    vector: the vectors of all heads add up to the output."""
    C = _contributions(A, V, W_O)
    return C / C.sum(dim=1, keepdim=True)


@head_contributions.misconception
def first_rows_for_every_head(A, V, W_O):
    """Every head goes through the first D_H rows of W_O. In the merged vector the features of head h stand from h·D_H on,
    so they meet the rows of W_O from h·D_H on."""
    return A @ V @ W_O[: V.shape[-1]]


@head_contributions.misconception
def rows_take_turns(A, V, W_O):
    """The heads take the rows of W_O in turns: head h has the rows h, h + H, h + 2H and so on. In the merged vector the D_H
    features of a head are neighbours, so its rows are neighbours as well: those from h·D_H on."""
    return A @ V @ W_O.unflatten(0, (-1, V.shape[1])).transpose(0, 1)


@head_contributions.misconception
def every_head_through_all_rows(A, V, W_O):
    """What a head has found meets the rows of all heads, and the results are summed. It meets its own D_H rows of W_O
    alone."""
    return A @ V @ _rows(V, W_O).sum(dim=0)


@head_contributions.misconception
def all_heads_through_each_rows(A, V, W_O):
    """Each head's rows of W_O meet what all heads have found, summed. They meet what their own head has found, A_h V_h,
    alone."""
    return (A @ V).sum(dim=1, keepdim=True) @ _rows(V, W_O)


@head_contributions.misconception
def output_projection_forgotten(A, V, W_O):
    """This is what each head has found, A_h V_h [B, H, N_Q, D_H]. What it adds to the output is that times its rows of W_O,
    and as wide as the output."""
    return A @ V


@head_contributions.misconception
def weights_left_out(A, V, W_O):
    """These are the values times W_O, one vector for each data vector, [B, H, N_X, D_Y]. The weights are missing: for each
    query A_h mixes them."""
    return V @ _rows(V, W_O)


@head_contributions.misconception
def weights_averaged(A, V, W_O):
    """The weights are averaged over the heads before they mix the values. Each head has weights of its own, and mixes its
    values with these."""
    return A.mean(dim=1, keepdim=True) @ V @ _rows(V, W_O)


@head_contributions.misconception
def merged_without_exchange(A, V, W_O):
    """A V was merged by one reshape from [B, H, N_Q, D_H] to [B, N_Q, H*D_H]. A reshape does not move numbers, so that rows
    mix queries: exchange H and N_Q first. Or do not merge at all: each head needs its own rows of W_O only."""
    merged = (A @ V).flatten(1).unflatten(1, (A.shape[2], -1))
    return merged.unflatten(-1, (V.shape[1], -1)).transpose(1, 2) @ _rows(V, W_O)


@head_contributions.alternative
def by_broadcasting(A, V, W_O):
    return A @ V @ W_O.unflatten(0, (V.shape[1], -1))


@head_contributions.alternative
def by_einsum(A, V, W_O):
    return torch.einsum("bhqx,bhxd,hdy->bhqy", A, V, W_O.reshape(V.shape[1], V.shape[3], -1))


@head_contributions.alternative
def values_projected_first(A, V, W_O):
    return A @ torch.stack([V[:, h] @ rows for h, rows in enumerate(W_O.chunk(V.shape[1]))], dim=1)


@head_contributions.alternative
def others_set_to_zero(A, V, W_O):
    merged, width = (A @ V).transpose(1, 2).flatten(2), V.shape[-1]
    made = []
    for h in range(V.shape[1]):
        alone = torch.zeros_like(merged)
        alone[..., h * width : (h + 1) * width] = merged[..., h * width : (h + 1) * width]
        made.append(alone @ W_O)
    return torch.stack(made, dim=1)
