"""Exercise 3: a learned positional encoding, with an error past the end of its table."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise


@exercise(
    points={"positions added": 2, "an error past the end": 1},
    section="Learned positional encoding: a table",
    source="Gehring et al. 2017, section 3.1",
    outputs="X_new",
    formula="row n of the table is added to row n of X, n = 0, …, N−1; N > max_length raises a ValueError that names both",
    cases=[
        Case("a batch", expand={"*B": "B"}, sizes={"N": 5, "max_length": 9}, part="positions added"),
        Case("one sequence", expand={"*B": ""}, sizes={"N": 4, "max_length": 7}, part="positions added"),
        Case("two batch axes", expand={"*B": "B_1 B_2"}, sizes={"N": 5, "max_length": 8}, part="positions added"),
        Case(
            "as long as the table",
            expand={"*B": "B"},
            sizes={"N": "max_length", "max_length": 7},
            part="positions added",
        ),
        Case("one vector", expand={"*B": "B"}, sizes={"N": 1, "max_length": 6}, part="positions added"),
        Case("a large batch", expand={"*B": "B"}, sizes={"B": 9, "N": 3, "max_length": 5}, part="positions added"),
        Case("wide vectors", expand={"*B": "B"}, sizes={"D": 11, "N": 4, "max_length": 6}, part="positions added"),
        Case(
            "one vector more than the table has",
            expand={"*B": "B"},
            sizes={"N": 8, "max_length": 7},
            part="an error past the end",
            raises="ValueError",
        ),
        Case(
            "far past the end",
            expand={"*B": ""},
            sizes={"N": 23, "max_length": 6},
            part="an error past the end",
            raises="ValueError",
        ),
        Case(
            "as many as there are, for the error",
            expand={"*B": ""},
            sizes={"N": "max_length", "max_length": 6},
            part="an error past the end",
        ),
    ],
)
class LearnedPositions(nn.Module):
    def __init__(self, max_length: int, D: int):
        super().__init__()
        self.table = nn.Embedding(max_length, D)

    def forward(self, X: Float[Tensor, "*B N D"]) -> Float[Tensor, "*B N D"]:
        N = X.shape[-2]
        if N > self.table.num_embeddings:
            raise ValueError(f"{N} vectors, but positions for {self.table.num_embeddings} only")
        return torch.add(X, F.embedding(torch.arange(N, device=X.device), self.table.weight))


def _checked(self, X):
    if X.shape[-2] > len(self.table.weight):
        raise ValueError(f"{X.shape[-2]} vectors, but positions for {len(self.table.weight)} only")
    return X.shape[-2]


@LearnedPositions.misconception
def error_left_to_the_lookup(self, X):
    """Past the end of the table nn.Embedding raises “index out of range in self”, which says neither what was too
    long nor how long it may be; on a GPU the error is reported later, at another line. If N > max_length, raise a
    ValueError before the lookup; a message that is only printed does not stop the program."""
    return X + self.table(torch.arange(X.shape[-2], device=X.device))


def _batch_alone_checked(self, X):
    if X.ndim == 3 and X.shape[1] > len(self.table.weight):
        raise ValueError(f"{X.shape[1]} vectors, but positions for {len(self.table.weight)} only")


@LearnedPositions.misconception
def one_sequence_looked_up_unchecked(self, X):
    """A batch that is too long is refused; a single sequence [N, D] is not, and the lookup fails. Either X.shape[1]
    was compared, which is D there, or only a batch is checked at all. With any number of batch axes N is
    X.shape[-2]."""
    _batch_alone_checked(self, X)
    return X + self.table(torch.arange(X.shape[-2], device=X.device))


@LearnedPositions.misconception
def one_sequence_added_unchecked(self, X):
    """A batch that is too long is refused; a single sequence [N, D] is not, and the addition fails. Either X.shape[1]
    was compared, which is D there, or only a batch is checked at all. With any number of batch axes N is
    X.shape[-2]."""
    _batch_alone_checked(self, X)
    return X + self.table.weight[: X.shape[-2]]


@LearnedPositions.misconception
def full_length_refused(self, X):
    """A sequence of exactly max_length vectors is refused. The table has rows 0 to max_length − 1, so max_length
    vectors fit: raise the error only if N > max_length."""
    N = X.shape[-2]
    if N >= self.table.num_embeddings:
        raise ValueError(f"{N} vectors, but positions for {self.table.num_embeddings} only")
    return X + self.table.weight[:N]


@LearnedPositions.misconception
def one_too_many_let_through(self, X):
    """The limit is one too high: a sequence of max_length + 1 vectors is not refused by the comparison. The table has
    rows 0 to max_length − 1: raise the error if N > max_length."""
    N, longest = X.shape[-2], self.table.num_embeddings
    if N > longest + 1:
        raise ValueError(f"{N} vectors, but positions for {longest} only")
    return X + self.table(torch.arange(N, device=X.device))


@LearnedPositions.misconception
def asserted(self, X):
    """An assert states what the programmer takes for granted, and python -O removes it. If a caller passes in
    something that is not allowed, raise a ValueError with a message."""
    assert X.shape[-2] <= self.table.num_embeddings
    return X + self.table.weight[: X.shape[-2]]


@LearnedPositions.misconception
def comparison_reversed(self, X):
    """The comparison is the wrong way round: a sequence that fits is refused. Raise the error if N > max_length."""
    N, longest = X.shape[-2], self.table.num_embeddings
    if N < longest:
        raise ValueError(f"{N} vectors, but positions for {longest} only")
    return X + self.table(torch.arange(N, device=X.device))


@LearnedPositions.misconception
def all_rows_added(self, X):
    """The whole table is added, which fits only a sequence of exactly that length. A sequence of N vectors gets the
    first N rows, one for each vector."""
    return X + self.table.weight


@LearnedPositions.misconception
def first_axis_compared(self, X):
    """The number of sequences in the batch, len(X), was compared with max_length. The length of a sequence is
    X.shape[-2]."""
    if len(X) > self.table.num_embeddings:
        raise ValueError(f"{len(X)} vectors, but positions for {self.table.num_embeddings} only")
    return X + self.table(torch.arange(X.shape[-2], device=X.device))


@LearnedPositions.misconception
def a_row_for_each_sequence(self, X):
    """The rows were assigned along the first axis: each sequence of the batch got one row for all its vectors. Vector
    n of each sequence gets row n, and N is X.shape[-2]."""
    if len(X) > self.table.num_embeddings:
        raise ValueError(f"{len(X)} vectors, but positions for {self.table.num_embeddings} only")
    return X + self.table(torch.arange(len(X), device=X.device))[:, None]


@LearnedPositions.misconception
def width_compared(self, X):
    """The width of the vectors, X.shape[-1], was compared with max_length. The length of a sequence is
    X.shape[-2]."""
    if X.shape[-1] > self.table.num_embeddings:
        raise ValueError(f"{X.shape[-1]} vectors, but positions for {self.table.num_embeddings} only")
    return X + self.table(torch.arange(X.shape[-2], device=X.device))


@LearnedPositions.misconception
def rows_alone(self, X):
    """Only rows of the table were returned, [N, D]. They should be added to X, the same rows to each sequence of the
    batch."""
    return self.table.weight[: _checked(self, X)]


@LearnedPositions.misconception
def same_position_for_all(self, X):
    """All vectors of a sequence got the same position, a single row of the table. Vector n gets row n."""
    return X + self.table.weight[_checked(self, X) - 1]


@LearnedPositions.misconception
def counted_from_one(self, X):
    """The positions are counted from 1. The rows of the table are numbered from 0, so a sequence of max_length
    vectors would need one row more than there is."""
    return X + self.table(torch.arange(1, _checked(self, X) + 1, device=X.device))


@LearnedPositions.misconception
def positions_reversed(self, X):
    """The positions run backwards: the first vector got the position of the last. Vector n gets row n."""
    return X + self.table.weight[: _checked(self, X)].flip(0)


@LearnedPositions.misconception(universal=True)
def end_of_the_table(self, X):
    """The last N rows of the table were used. Positions begin at row 0, whatever the length: table.weight[:N]."""
    return X + self.table.weight[-_checked(self, X) :]


@LearnedPositions.misconception
def multiplied(self, X):
    """X is multiplied by the rows of the table. They should be added."""
    return X * self.table.weight[: _checked(self, X)]


@LearnedPositions.misconception
def joined_instead_of_added(self, X):
    """The positions are concatenated to X, which makes it twice as wide. That is possible, too, but this exercise
    asks for the sum."""
    return torch.cat([X, self.table.weight[: _checked(self, X)].expand_as(X)], dim=-1)


@LearnedPositions.misconception
def length_from_axis_one(self, X):
    """The length is read from shape[1], which is right only for a batch [B, N, D]. The vectors of a sequence lie
    along the last axis but one: X.shape[-2]."""
    if X.shape[1] > self.table.num_embeddings:
        raise ValueError(f"{X.shape[1]} vectors, but positions for {self.table.num_embeddings} only")
    return X + self.table.weight[: X.shape[1]]


@LearnedPositions.alternative
def by_a_slice(self, X):
    return X + self.table.weight[: _checked(self, X)]


@LearnedPositions.alternative
def row_by_row(self, X):
    rows = [X[..., n, :] + self.table.weight[n] for n in range(_checked(self, X))]
    return torch.stack(rows, dim=-2)


@LearnedPositions.alternative
def looked_up_for_each(self, X):
    places = torch.arange(_checked(self, X), device=X.device).expand(X.shape[:-1])
    return self.table(places) + X


@LearnedPositions.alternative
class told_in_other_words(LearnedPositions.reference):
    def __init__(self, max_length, D):
        super().__init__(max_length, D)
        self.longest = max_length

    def forward(self, X):
        *_, N, D = X.shape
        if self.longest < N:
            raise ValueError(f"The table ends at {self.longest}; the sequence has length {N}.")
        return X + self.table(torch.arange(0, N, device=X.device)).view(N, D)
