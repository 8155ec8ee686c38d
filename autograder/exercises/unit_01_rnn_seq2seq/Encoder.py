"""Exercise 2: an encoder that reads padded batches."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from autograder.bank.declaration import Case, exercise
from autograder.bank.families.sentences import sentences

WORDS = {"V": 11, "T": 7}


def _drawn(inputs, sizes, rng):
    tokens, lengths = sentences(sizes["B"], sizes["T"], sizes["V"], rng)
    return {"tokens": tokens, "lengths": lengths}


@exercise(
    points={"one sentence": 1, "a padded batch": 2},
    section="Many sentences at once: padding",
    source="Sutskever, Vinyals and Le 2014",
    outputs="H h",
    formula="H [B, T, D_H] holds h_t = f_W(x_t, h_{t−1}), and 0 at padded positions; h [B, D_H] is each sentence's own"
    " last state, h[b] = H[b, lengths[b] − 1]",
    cases=[
        Case("a batch of sentences", sizes=WORDS, part="a padded batch"),
        Case("a larger batch", sizes={**WORDS, "B": 8}, part="a padded batch"),
        Case("one sentence, nothing padded", sizes={**WORDS, "B": 1}, part="one sentence"),
        Case("one sentence, longer", sizes={"V": 13, "T": 9, "B": 1}, part="one sentence"),
    ],
    draws=_drawn,
    equivalent={
        "nn.GRU(D_E, D_H)": "it reads one sentence at a time, which has no batch axis",
        "batch_first=False)": "it reads one sentence at a time, which has no batch axis",
    },
)
class Encoder(nn.Module):
    def __init__(self, V: int, D_E: int, D_H: int):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.rnn = nn.GRU(D_E, D_H, batch_first=True)

    def forward(
        self, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, "B"]
    ) -> tuple[Float[Tensor, "B T D_H"], Float[Tensor, "B D_H"]]:
        states = [self.rnn(self.embedding(row[:length]))[0] for row, length in zip(tokens, lengths.tolist())]
        T = tokens.shape[1]
        padded = [nn.functional.pad(one, (0, 0, 0, T - len(one))) for one in states]
        return torch.stack(padded), torch.stack([one[-1] for one in states])


def _read(self, tokens, lengths):
    """States [B, T, D_H] over tokens and padding alike, and where tokens are [B, T, 1]."""
    H = self.rnn(self.embedding(tokens))[0]
    return H, (torch.arange(tokens.shape[1], device=tokens.device) < lengths[:, None]).unsqueeze(-1)


def _own_last(H, lengths):
    return H[torch.arange(len(H), device=H.device), lengths - 1]


@Encoder.misconception
def state_after_the_padding(self, tokens, lengths):
    """h is the state at the last position, H[:, −1] (nn.GRU returns the same state as its last one). In a shorter
    sentence the network has read on through the padding by then. Take the state at each sentence's own last token,
    position lengths − 1."""
    H, real = _read(self, tokens, lengths)
    return H * real, H[:, -1]


@Encoder.misconception
def zeroed_last_place(self, tokens, lengths):
    """h is taken at the last position of H after the padding was set to 0, so for a shorter sentence h is 0. Take the
    state at each sentence's own last token, position lengths − 1."""
    H, real = _read(self, tokens, lengths)
    return H * real, (H * real)[:, -1]


@Encoder.misconception
def padding_left_in(self, tokens, lengths):
    """h is right, but H holds states at padded positions, too: the network read on through the padding. Whatever uses H
    later would take them for states of tokens; they must be 0."""
    H, _ = _read(self, tokens, lengths)
    return H, _own_last(H, lengths)


@Encoder.misconception
def one_word_too_early(self, tokens, lengths):
    """h is the state one token before the last. Positions are counted from 0, so the last token of a sentence stands at
    position lengths − 1."""
    H, real = _read(self, tokens, lengths)
    return H * real, _own_last(H, (lengths - 1).clamp(min=1))


@Encoder.misconception
def one_place_too_late(self, tokens, lengths):
    """h is taken one position behind the last token. Positions are counted from 0, so the last token of a sentence
    stands at position lengths − 1."""
    H, real = _read(self, tokens, lengths)
    return H * real, _own_last(H, (lengths + 1).clamp(max=tokens.shape[1]))


@Encoder.misconception
def index_behind_the_sentence(self, tokens, lengths):
    """The index `lengths` points one position behind the last token, and for the longest sentence behind the end of H.
    Positions are counted from 0: lengths − 1."""
    H, real = _read(self, tokens, lengths)
    return H * real, H[torch.arange(len(H)), lengths]


@Encoder.misconception
def mean_of_the_states(self, tokens, lengths):
    """h is the mean of all hidden states of a sentence. The exercise asks for the last hidden state, the only one that
    comes after all tokens have been read."""
    H, real = _read(self, tokens, lengths)
    return H * real, (H * real).sum(1) / lengths[:, None]


@Encoder.misconception
def first_state(self, tokens, lengths):
    """h is the state after the first token, which knows nothing of the later ones. The exercise asks for the state
    after the last token."""
    H, real = _read(self, tokens, lengths)
    return H * real, H[:, 0]


@Encoder.misconception
def read_across_the_batch(self, tokens, lengths):
    """The network runs along the wrong axis: it reads the first tokens of all sentences as one sequence, then all
    second tokens, and so on. nn.GRU takes the first axis as time unless it is made with batch_first=True."""
    H = self.rnn(self.embedding(tokens).transpose(0, 1))[0].transpose(0, 1)
    real = _read(self, tokens, lengths)[1]
    return H * real, _own_last(H, lengths)


@Encoder.misconception
def sorted_and_left_so(self, tokens, lengths):
    """The sentences come back sorted by length, not in the order in which they came. Undo the sorting, or pack with
    enforce_sorted=False."""
    order = lengths.argsort(descending=True, stable=True)
    H, real = _read(self, tokens[order], lengths[order])
    return H * real, _own_last(H, lengths[order])


@Encoder.misconception
def last_state_of_the_longest(self, tokens, lengths):
    """h is taken at the same position in every sentence. Each sentence has its own last token, at position lengths −
    1."""
    H, real = _read(self, tokens, lengths)
    return H * real, H[:, int(lengths.min()) - 1]


@Encoder.misconception
def read_backwards(self, tokens, lengths):
    """The sentence is read from its end to its start. h_t is computed from h_{t−1}, so the first token is read
    first."""
    H = torch.zeros_like(_read(self, tokens, lengths)[0])
    for b, length in enumerate(lengths.tolist()):
        H[b, :length] = self.rnn(self.embedding(tokens[b, :length].flip(0))[None])[0][0].flip(0)
    return H, H[:, 0]


@Encoder.misconception
def padding_read_like_words(self, tokens, lengths):
    """The padding is treated like the other tokens: H holds states there, and h is the state behind the padding. Set H
    to 0 at padded positions, and take h at each sentence's own last token, position lengths − 1."""
    H, _ = _read(self, tokens, lengths)
    return H, H[:, -1]


@Encoder.misconception
def axis_of_layers_left_in(self, tokens, lengths):
    """h has nn.GRU's axis of layers in front, [1, B, D_H]. There is one layer only: take h[0]."""
    H, real = _read(self, tokens, lengths)
    return H * real, _own_last(H, lengths)[None]


@Encoder.misconception
def one_padded_place_kept(self, tokens, lengths):
    """H keeps the state at one padded position. Tokens stand at positions 0 to lengths − 1, so the comparison is
    position < lengths."""
    H, _ = _read(self, tokens, lengths)
    return H * (torch.arange(H.shape[1], device=H.device) <= lengths[:, None])[..., None], _own_last(H, lengths)


@Encoder.misconception
def last_word_set_to_zero(self, tokens, lengths):
    """The state of the last token is set to 0 together with the padding. Tokens stand at positions 0 to lengths − 1, so
    the comparison is position < lengths."""
    H, _ = _read(self, tokens, lengths)
    return H * (torch.arange(H.shape[1], device=H.device) < lengths[:, None] - 1)[..., None], _own_last(H, lengths)


@Encoder.misconception
def sorted_twice(self, tokens, lengths):
    """The sentences were sorted by length, and then the same order was applied a second time to undo the sorting. The
    inverse order undoes it: order.argsort()."""
    order = lengths.argsort(descending=True, stable=True)
    H, real = _read(self, tokens[order], lengths[order])
    return (H * real)[order], _own_last(H, lengths[order])[order]


@Encoder.alternative
def packed(self, tokens, lengths):
    words = pack_padded_sequence(self.embedding(tokens), lengths.cpu(), batch_first=True, enforce_sorted=False)
    states, last = self.rnn(words)
    return pad_packed_sequence(states, batch_first=True, total_length=tokens.shape[1])[0], last[0]


@Encoder.alternative
def masked_and_gathered(self, tokens, lengths):
    H, _ = self.rnn(self.embedding(tokens))
    H = H.masked_fill((torch.arange(H.shape[1], device=H.device) >= lengths[:, None])[..., None], 0)
    place = (lengths - 1)[:, None, None].expand(-1, 1, H.shape[-1])
    return H, H.gather(1, place).squeeze(1)


@Encoder.alternative
def step_by_step(self, tokens, lengths):
    X = self.embedding(tokens)
    h = X.new_zeros(len(X), self.rnn.hidden_size)
    states = []
    for t in range(X.shape[1]):
        new = self.rnn(X[:, t : t + 1], h[None])[1][0]
        real = (t < lengths)[:, None]
        h = torch.where(real, new, h)
        states.append(torch.where(real, new, torch.zeros_like(new)))
    return torch.stack(states, dim=1), h


@Encoder.alternative
def by_hand_from_the_weights(self, tokens, lengths):
    W, U = self.rnn.weight_ih_l0, self.rnn.weight_hh_l0
    states, h = [], self.embedding.weight.new_zeros(len(tokens), self.rnn.hidden_size)
    for t in range(tokens.shape[1]):
        r, z, n = (self.embedding(tokens[:, t]) @ W.T + self.rnn.bias_ih_l0).chunk(3, -1)
        hr, hz, hn = (h @ U.T + self.rnn.bias_hh_l0).chunk(3, -1)
        r, z = torch.sigmoid(r + hr), torch.sigmoid(z + hz)
        new = (1 - z) * torch.tanh(n + r * hn) + z * h
        h = torch.where((t < lengths)[:, None], new, h)
        states.append(new * (t < lengths)[:, None])
    return torch.stack(states, dim=1), h
