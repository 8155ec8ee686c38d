"""Exercise 1: SAGAN's block, in which every cell of a convolutional network's grid looks at all cells."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise


def _case(text, edge=False, starts="", **sizes):
    return Case(text, scale={"X": 0.3}, sizes=sizes, edge=edge, starts=starts, blank=starts)


@exercise(
    points=3,
    section="Self-attention in a convolutional network",
    source="Zhang et al. 2019 (SAGAN), section 3; lecture slides 002, “CNN with self-attention”",
    outputs="Y",
    formula="E[n, m] = q_n · k_m for all cells n and m of a picture, not divided by a root; A = softmax over m;"
    " Y_n = X_n + gamma · output(Σ_m A[n, m] v_m); X [B, C, rows, columns] gives Y [B, C, rows, columns]",
    cases=[
        _case("a batch of pictures"),
        _case("more rows than columns", B=2, C=5, C_K=3, rows=6, columns=4),
        _case("queries wider than the picture has channels", B=2, C=3, C_K=5, rows=4, columns=6),
        _case("one picture", B=1, C=4, C_K=2, rows=3, columns=5),
        _case("a new block", starts="gamma"),
        _case("one cell", edge=True, B=3, C=4, C_K=2, rows=1, columns=1),
    ],
    forbidden=("multi_head_attention",),
)
class SelfAttention2d(nn.Module):
    def __init__(self, C: int, C_K: int):
        super().__init__()
        self.queries, self.keys, self.values = (nn.Conv2d(C, C_K, 1) for _ in range(3))
        self.output = nn.Conv2d(C_K, C, 1)
        self.gamma = nn.Parameter(torch.tensor(0.0))

    def forward(self, X: Float[Tensor, "B C rows columns"]) -> Float[Tensor, "B C rows columns"]:
        Q, K, V = (layer(X).flatten(2) for layer in (self.queries, self.keys, self.values))  # [B, C_K, N]
        A = (Q.mT @ K).softmax(dim=-1)  # [B, N, N]
        mixed = (V @ A.mT).unflatten(2, X.shape[2:])
        return X + self.gamma * self.output(mixed)


def _sequence(grid):
    """[B, C, rows, columns] as [B, N, C], row by row."""
    return grid.flatten(2).mT


def _picture(sequence, like):
    """[B, N, C] as [B, C, rows, columns]."""
    return sequence.mT.unflatten(2, like.shape[2:])


def _over_keys(E):
    return E.softmax(dim=-1)


def _seen(self, X, *, weights=_over_keys, flat=_sequence, back=_picture, values=None, divisor=1.0):
    """What attention brings, back on C channels."""
    Q, K = flat(self.queries(X)), flat(self.keys(X))
    V = flat((self.values if values is None else values)(X))
    return self.output(back(weights(Q @ K.mT / divisor) @ V, X))


@SelfAttention2d.misconception
def table_transposed(self, X):
    """The weights meet the values the wrong way round: the result of a cell is made of the weights that others give to it. It
    is made of the weights that it gives itself, A[n, m] v_m summed over m; with values of [B, C_K, N] that is V times A
    transposed."""

    def weights(E):
        return E.softmax(dim=-1).mT

    return X + self.gamma * _seen(self, X, weights=weights)


@SelfAttention2d.misconception
def keys_ask(self, X):
    """The keys ask and the queries answer: the table of scores is transposed before its softmax. What `queries` gives at a cell
    is compared with what `keys` gives at all cells, and the result belongs to the cell of the query."""
    return X + self.gamma * _seen(self, X, weights=lambda E: E.mT.softmax(dim=-1))


@SelfAttention2d.misconception
def divided_by_the_root(self, X):
    """The scores are divided by √C_K. SAGAN uses the plain scalar products of queries and keys. F.scaled_dot_product_attention
    divides, too, unless it is told scale=1."""
    return X + self.gamma * _seen(self, X, divisor=math.sqrt(self.queries.out_channels))


@SelfAttention2d.misconception
def gamma_left_out(self, X):
    """gamma is not used: what was seen is added in full. It is multiplied by gamma, so that a new block, whose gamma is 0,
    hands the picture on as it is."""
    return X + _seen(self, X)


@SelfAttention2d.misconception
def gamma_on_the_picture(self, X):
    """gamma multiplies the picture, and what was seen is added in full. It is the other way round: X stays as it is, and gamma
    scales what attention adds."""
    return self.gamma * X + _seen(self, X)


@SelfAttention2d.misconception
def gamma_on_the_sum(self, X):
    """gamma multiplies the sum of X and what was seen, so a new block, whose gamma is 0, gives zeros. Only what attention adds
    is scaled; X itself goes on unchanged."""
    return self.gamma * (X + _seen(self, X))


@SelfAttention2d.misconception
def blended(self, X):
    """gamma blends the picture with what was seen: (1 − gamma) of the one and gamma of the other. SAGAN adds: X stays whole,
    and gamma times what was seen comes on top."""
    return (1 - self.gamma) * X + self.gamma * _seen(self, X)


@SelfAttention2d.misconception
def gamma_before_the_output(self, X):
    """gamma scales the weighted sums before `output`, whose bias is then added in full: a new block, whose gamma is 0, changes
    the picture by it. gamma multiplies what `output` gives, bias included."""
    return X + _seen(self, X, back=lambda found, like: self.gamma * _picture(found, like))


@SelfAttention2d.misconception
def cut_and_put_back_by_reshaping(self, X):
    """The grid became a sequence, and the sequence a grid again, by a change of shape alone: [B, C_K, rows, columns] has the
    channels in front, and [B, rows·columns, C_K] has them last. Move the axis of the channels both times."""

    def flat(grid):
        return grid.reshape(len(grid), -1, grid.shape[1])

    return X + self.gamma * _seen(
        self, X, flat=flat, back=lambda found, like: found.reshape(len(X), -1, *like.shape[2:])
    )


@SelfAttention2d.misconception
def back_by_reshaping(self, X):
    """The weighted sums, [B, rows·columns, C_K], got the shape of a picture without their axes being moved: channels and cells
    are mixed up. Exchange the two axes first, then split the cells into rows and columns."""

    def back(found, like):
        return found.reshape(len(found), -1, *like.shape[2:])

    return X + self.gamma * _seen(self, X, back=back)


@SelfAttention2d.misconception
def channels_attend_to_channels(self, X):
    """Channels attend to channels: the scalar products run over the cells, which gives a table of C_K by C_K. Cells attend to
    cells here; the products run over the channels, and the table has rows·columns by rows·columns entries."""

    def flat(grid):
        return grid.flatten(2)

    return X + self.gamma * _seen(self, X, flat=flat, back=lambda found, like: found.unflatten(2, like.shape[2:]))


@SelfAttention2d.misconception
def only_within_a_row(self, X):
    """A cell attends only to the cells of its own row. It attends to all cells of the picture: join rows and columns into one
    axis before the products."""

    def flat(grid):
        return grid.permute(0, 2, 3, 1)

    return X + self.gamma * _seen(self, X, flat=flat, back=lambda found, like: found.permute(0, 3, 1, 2))


@SelfAttention2d.misconception
def pictures_mixed(self, X):
    """Cells attend to the cells of all pictures in the batch. Each picture is by itself: the batch stays an axis of its own."""
    back = lambda found, like: _picture(found.unflatten(0, (len(like), -1)), like)  # noqa: E731
    return X + self.gamma * _seen(self, X, flat=lambda grid: _sequence(grid).flatten(0, 1), back=back)


@SelfAttention2d.misconception
def keys_for_values(self, X):
    """The weighted sums are of keys. What a cell is found by and what it hands on are two things here: `values` gives what is
    summed."""
    return X + self.gamma * _seen(self, X, values=self.keys)


@SelfAttention2d.misconception
def without_itself(self, X):
    """A cell does not attend to itself. In SAGAN it is one of the cells that it looks at: the softmax runs over all of them."""

    def weights(E):
        own = torch.eye(E.shape[-1], dtype=torch.bool, device=E.device)
        return E.masked_fill(own, torch.finfo(E.dtype).min).softmax(dim=-1)

    return X + self.gamma * _seen(self, X, weights=weights)


@SelfAttention2d.alternative
def as_a_sequence(self, X):
    return X + self.gamma * _seen(self, X)


@SelfAttention2d.alternative
def fused(self, X):
    Q, K, V = (layer(X).flatten(2).transpose(1, 2) for layer in (self.queries, self.keys, self.values))
    found = F.scaled_dot_product_attention(Q, K, V, scale=1.0)
    return torch.addcmul(X, self.gamma, self.output(found.transpose(1, 2).reshape(len(X), -1, *X.shape[2:])))


@SelfAttention2d.alternative
def with_einsum(self, X):
    scores = torch.einsum("bchw,bcij->bhwij", self.queries(X), self.keys(X))
    A = scores.flatten(3).softmax(dim=-1).view_as(scores)
    return self.gamma * self.output(torch.einsum("bhwij,bcij->bchw", A, self.values(X))) + X


@SelfAttention2d.alternative
def row_by_row(self, X):
    K, V = self.keys(X).flatten(2), self.values(X).flatten(2).mT
    found = [torch.softmax(row.mT @ K, dim=-1) @ V for row in self.queries(X).unbind(dim=2)]  # each [B, columns, C_K]
    mixed = torch.stack(found, dim=1).permute(0, 3, 1, 2)
    return X + self.output(mixed) * self.gamma
