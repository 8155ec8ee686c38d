"""Exercise 2 again: more mistakes of positions, masks and wiring."""

import torch
import torch.nn.functional as F
from torch import nn

from autograder.exercises.unit_10_encoder_decoder.Transformer.declaration import (
    PAD,
    Transformer,
    _embedded,
    _embedding,
    _in_turn,
    _later,
    _run,
    _same,
)

# positions


def _without_positions(self, words):
    return _embedded(self, words, place=lambda angles: 0 * _in_turn(angles))


@Transformer.misconception
def positions_scaled_too(self, source, target):
    """√D multiplies the sum of embedding and position. It belongs to the embedding alone; sines and cosines are added as they
    are."""
    return _embedding(self, source, target, scaled=(True, True))


@Transformer.misconception
def positions_along_the_batch(self, source, target):
    """The table of positions runs along the batch: all tokens of one sentence get the same position, that of the sentence in the
    batch. Positions belong to axis 1 of [B, N, D]: [1, N, D]."""

    def embed(self, words):
        return _embedded(self, words.T).transpose(0, 1)

    return _run(self, source, target, embed=embed)


@Transformer.misconception
def target_without_positions(self, source, target):
    """The target's embeddings have no positions. Both sides need them: the causal mask says which tokens came before, not in
    which order."""
    return _run(self, source, target, embed_target=_without_positions)


@Transformer.misconception
def source_without_positions(self, source, target):
    """The source's embeddings have no positions. Both sides need them: without, the encoder cannot tell one order of its tokens
    from another."""
    return _run(self, source, target, embed=_without_positions, embed_target=_embedded)


@Transformer.misconception
def sines_then_cosines(self, source, target):
    """The first half of the dimensions holds sines, the second half cosines. In the paper they take turns: sin at the even,
    cos at the odd dimensions. Either would do, but weights that were trained with one do not fit the other."""
    return _embedding(self, source, target, place=lambda angles: torch.cat([angles.sin(), angles.cos()], dim=-1))


@Transformer.misconception
def cosines_first(self, source, target):
    """Sines and cosines have changed places: sin belongs at the even dimensions, which begin with 0, and cos at the odd ones."""
    return _embedding(
        self, source, target, place=lambda angles: torch.stack([angles.cos(), angles.sin()], -1).flatten(1)
    )


@Transformer.misconception
def positions_from_one(self, source, target):
    """Positions are counted from 1. They begin with 0, so that the first token gets sin(0) = 0 and cos(0) = 1."""
    return _embedding(self, source, target, first=1)


@Transformer.misconception
def half_the_exponent(self, source, target):
    """The frequencies fall half as fast as they should: they are 10000^(−i/D), where i counts the pairs of dimensions. The
    exponent is −2i/D."""
    return _embedding(self, source, target, exponent=0.5)


@Transformer.misconception
def twice_the_exponent(self, source, target):
    """The frequencies fall twice as fast as they should: they are 10000^(−4i/D), where i counts the pairs of dimensions. The
    exponent is −2i/D; a range 0, 2, 4, … holds 2i already."""
    return _embedding(self, source, target, exponent=2.0)


@Transformer.misconception
def a_frequency_for_each_dimension(self, source, target):
    """Each dimension has a frequency of its own. The dimensions 2i and 2i + 1 are a pair, sine and cosine of one angle t·ω_i,
    with ω_i = 10000^(−2i/D)."""

    def embed(self, words):
        E = self.embedding.weight
        d = torch.arange(E.shape[1], device=E.device)
        angles = torch.arange(words.shape[1], device=E.device, dtype=E.dtype)[:, None] / 10_000 ** (d / len(d))
        return self.embedding(words) * len(d) ** 0.5 + torch.where(d % 2 == 0, angles.sin(), angles.cos())

    return _run(self, source, target, embed=embed)


# masks


@Transformer.misconception
def one_token_ahead(self, source, target):
    """Each position of the target attends to one token too many, the very token that it should predict. Hide all above the
    diagonal itself: triu(1)."""
    return _run(self, source, target, later=lambda T, device: _later(T, device, 2))


@Transformer.misconception
def tokens_hidden_from_themselves(self, source, target):
    """The causal mask hides the diagonal too, so that no position of the target attends to itself, and the first one to nothing.
    Hide what lies above the diagonal: triu(1)."""
    return _run(self, source, target, later=lambda T, device: _later(T, device, 0))


@Transformer.misconception
def cross_attention_causal(self, source, target):
    """The cross-attention is causal as well: position t of the target sees the first t + 1 tokens of the source alone. The
    source is there as a whole before the first token is written, and each position may attend to all of its tokens."""
    ahead = torch.ones(target.shape[1], source.shape[1], dtype=torch.bool, device=source.device).triu(1)
    return _run(self, source, target, ahead=ahead)


# wiring


@Transformer.misconception
def memory_of_the_same_depth(self, source, target):
    """Layer l of the decoder reads what layer l of the encoder gives. Every layer of the decoder reads the same memory, that of
    the whole encoder, behind encoder_norm."""
    return _run(self, source, target, memories=lambda states: map(self.encoder_norm, states))


@Transformer.misconception
def output_not_normed(self, source, target):
    """decoder_norm is left out: the head reads the residual stream as the last layer leaves it. In a pre-norm model the norm at
    the end of the decoder brings it to one scale."""
    return _run(self, source, target, decoded=lambda Y: Y)


@Transformer.misconception
def norms_exchanged(self, source, target):
    """The norms have changed places: encoder_norm belongs behind the encoder, decoder_norm in front of the head."""
    return _run(self, source, target, encoded=self.decoder_norm, decoded=self.encoder_norm)


@Transformer.misconception
def encoder_left_out(self, source, target):
    """The decoder reads the source's embeddings as if there were no encoder. What each layer of it makes has to go into the next
    one, and that of the last into encoder_norm."""
    embedded = _embedded(self, source)
    return _run(self, source, target, encoded=lambda X: self.encoder_norm(embedded))


@Transformer.misconception
def one_layer_again_and_again(self, source, target):
    """Each stack runs one of its layers L times. A layer has weights of its own: make L different ones, as [layer] * L does
    not, and go through them in order."""
    return _run(self, source, target, layers=lambda stack: [stack[-1]] * len(stack))


@Transformer.misconception
def normed_behind_each_layer(self, source, target):
    """encoder_norm stands behind each layer of the encoder. It comes once, behind the last one; between the layers the residual
    stream goes on as it is."""
    layers = [lambda X, layer=layer, **masks: self.encoder_norm(layer(X, **masks)) for layer in self.encoder]
    return _run(self, source, target, layers=lambda stack: layers if stack is self.encoder else stack, encoded=_same)


@Transformer.misconception
def log_probabilities(self, source, target):
    """The result holds log-probabilities: a log_softmax was taken over the tokens. Logits are asked for, the products with the
    rows of the embedding as they are; the loss takes the log_softmax itself."""
    return _run(self, source, target).log_softmax(dim=-1)


# layers that were made otherwise


@Transformer.misconception
class PostNorm(Transformer.reference):
    """The layers are post-norm, as torch makes them by itself: each norm comes after a sum. Pre-norm is asked for:
    norm_first=True."""

    def __init__(self, V, D, H, D_F, L):
        super().__init__(V, D, H, D_F, L)
        for layer in (*self.encoder, *self.decoder):
            layer.norm_first = False


@Transformer.misconception
class WithGelu(Transformer.reference):
    """The layers have GELU between the two linear layers of their MLPs. Here it is ReLU, as in the paper, which torch's layers
    have by themselves."""

    def __init__(self, V, D, H, D_F, L):
        super().__init__(V, D, H, D_F, L)
        for layer in (*self.encoder, *self.decoder):
            layer.activation, layer.activation_relu_or_gelu = F.gelu, 2


# a correct one


@Transformer.alternative
def with_masks_of_three_axes(self, source, target):
    """A mask for each head and each query, instead of one for the keys."""
    hidden = (source == PAD)[:, None].repeat_interleave(self.encoder[0].self_attn.num_heads, dim=0)  # [B·H, 1, N]
    X, Y = _embedded(self, source), _embedded(self, target)
    for layer in self.encoder:
        X = layer(X, hidden.expand(-1, source.shape[1], -1))
    X = self.encoder_norm(X)
    later = nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=Y.device, dtype=Y.dtype)
    for layer in self.decoder:
        Y = layer(Y, X, later, hidden.expand(-1, target.shape[1], -1))
    return self.decoder_norm(Y).matmul(self.embedding.weight.mT)
