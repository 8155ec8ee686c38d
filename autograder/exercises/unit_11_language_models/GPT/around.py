"""GPT again: mistakes before and after the blocks, in embeddings, last norm and head."""

import math

import torch
import torch.nn.functional as F

from autograder.exercises.unit_11_language_models.GPT.declaration import GPT, _embedded, _head, _run

# embeddings


@GPT.misconception
def no_positions(self, tokens):
    """The position embeddings are not added. Attention itself does not see the order of the tokens: add row i of
    positions.weight to the embedding of the token at position i."""
    return _head(self, _run(self, self.tokens(tokens)))


@GPT.misconception(universal=True)
def positions_from_the_end(self, tokens):
    """A text that is shorter than the context gets the last rows of the table of positions. Its first token stands at
    position 0 whatever its length: take the first n rows."""
    N, n = self.positions.num_embeddings, tokens.shape[1]
    return _head(self, _run(self, _embedded(self, tokens, torch.arange(N - n, N, device=tokens.device))))


@GPT.misconception
def positions_from_one(self, tokens):
    """The positions are counted from 1, so that each token gets the next one's embedding, and a text of N tokens asks for a
    row that the table does not have. They are counted from 0: 0, …, n−1."""
    return _head(self, _run(self, _embedded(self, tokens, torch.arange(tokens.shape[1], device=tokens.device) + 1)))


@GPT.misconception
def whole_table_of_positions(self, tokens):
    """All N rows of the table of positions are added, which works only for texts of exactly N tokens. A text may be shorter,
    n ≤ N: take the rows 0, …, n−1."""
    return _head(self, _run(self, self.tokens(tokens) + self.positions.weight))


@GPT.misconception
def positions_of_lines(self, tokens):
    """Each text gets the position embedding of its place in the batch, the same at all its tokens. Positions are counted
    along each text, 0, …, n−1, and are the same for every text of the batch."""
    return _head(self, _run(self, _embedded(self, tokens, torch.arange(len(tokens), device=tokens.device)[:, None])))


@GPT.misconception
def positions_of_words(self, tokens):
    """The table of positions is read with the numbers of the tokens, so that a word has the same position wherever it stands. It
    is read with the places in the text: 0, …, n−1."""
    return _head(self, _run(self, _embedded(self, tokens, tokens)))


@GPT.misconception
def embeddings_times_the_root_of_the_width(self, tokens):
    """The token embeddings are multiplied by √D, as in the first Transformer, which adds fixed waves to them. GPT-2 learns
    its positions, and adds them to the embeddings as they are."""
    n = tokens.shape[1]
    X = math.sqrt(self.norm.weight.numel()) * self.tokens(tokens) + self.positions.weight[:n]
    return _head(self, _run(self, X))


# the last norm


@GPT.misconception(universal=True)
def no_last_norm(self, tokens):
    """The last LayerNorm is missing. Pre-norm blocks leave the residual stream as it is, with whatever scale it has grown to:
    norm comes after the last block, before the head."""
    return _run(self, _embedded(self, tokens)) @ self.tokens.weight.T


@GPT.misconception
def norm_before_the_blocks(self, tokens):
    """norm is applied to the embeddings, before the first block, and not after the last one. Each block normalises what it
    reads by itself; norm stands between the last block and the head."""
    return _run(self, self.norm(_embedded(self, tokens))) @ self.tokens.weight.T


@GPT.misconception
def norm_at_both_ends(self, tokens):
    """norm is applied after the last block, where it belongs, and also to the embeddings, as BERT does it. Here the sum of
    embeddings enters the first block as it is."""
    return _head(self, _run(self, self.norm(_embedded(self, tokens))))


# the head


@GPT.misconception
def softmax_of_the_logits(self, tokens):
    """The logits went through a softmax. The model returns logits: F.cross_entropy applies the softmax by itself, and
    sampling divides by a temperature first."""
    return _head(self, _run(self, _embedded(self, tokens))).softmax(dim=-1)


@GPT.misconception
def logarithm_of_probabilities(self, tokens):
    """The logits went through a log_softmax. The model returns logits as the head gives them: F.cross_entropy applies the
    softmax by itself."""
    return _head(self, _run(self, _embedded(self, tokens))).log_softmax(dim=-1)


@GPT.misconception
def table_not_transposed(self, tokens):
    """norm(X) was multiplied by E [V, D], not by Eᵀ [D, V]. The logit of a word is the dot product of norm(X) with the word's
    row of E. Without the transpose the shapes fit only where V = D, and the numbers are wrong there."""
    return self.norm(_run(self, _embedded(self, tokens))) @ self.tokens.weight


@GPT.misconception
def head_keeps_the_table_from_learning(self, tokens):
    """The head reads the table E detached, so that E learns from the embeddings alone. The tied head is the same
    parameter: use self.tokens.weight itself, and its gradient comes from both ends."""
    return self.norm(_run(self, _embedded(self, tokens))) @ self.tokens.weight.detach().T


@GPT.misconception
def no_head(self, tokens):
    """The result is norm(X), [B, n, D]: a vector of features at each position. The head is missing, which makes a logit for
    each word of it: norm(X) Eᵀ, with E the table of the token embeddings."""
    return self.norm(_run(self, _embedded(self, tokens)))


@GPT.misconception
def last_position_alone(self, tokens):
    """Only the last position has logits. That is enough to generate a text; in training every position predicts its next
    token: logits [B, n, V]."""
    return _head(self, _run(self, _embedded(self, tokens)))[:, -1]


@GPT.misconception
def last_position_left_out(self, tokens):
    """The logits of the last position are missing. What belongs to no target is dropped in the loss, not in the model:
    generating goes on from the last position. logits [B, n, V]."""
    return _head(self, _run(self, _embedded(self, tokens)))[:, :-1]


# correct models


@GPT.alternative
def as_a_student(self, tokens):
    n = tokens.shape[1]
    X = self.tokens(tokens) + self.positions(torch.arange(n, device=tokens.device))
    mask = torch.triu(torch.ones(n, n, dtype=torch.bool, device=tokens.device), diagonal=1)
    for block in self.blocks:
        X = block(X, src_mask=mask, is_causal=True)
    return F.linear(self.norm(X), self.tokens.weight)


@GPT.alternative
def filled_up_to_the_context(self, tokens):
    """What stands behind a text makes no difference to it."""
    N, n = self.positions.num_embeddings, tokens.shape[1]
    X = _run(self, self.tokens(F.pad(tokens, (0, N - n))) + self.positions.weight)
    return _head(self, X[:, :n])
