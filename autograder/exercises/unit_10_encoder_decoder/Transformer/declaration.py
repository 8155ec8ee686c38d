"""Exercise 2: the whole Transformer: embeddings, positions, masks, two stacks and a tied head."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise

PAD, START, STOP = 0, 1, 2
BASE = 10_000
LAYER = {"dropout": 0.0, "batch_first": True, "norm_first": True}


def _drawn(inputs, sizes, rng):
    """Sources that end with STOP, padded behind it where they are shorter; targets that begin with START."""
    B, N, T, V = (sizes[name] for name in "BNTV")
    lengths = rng.integers(1, N + 1, size=B)
    lengths[-1], lengths[0] = N, max(1, N - 2)
    source = rng.integers(3, V, size=(B, N)) * (np.arange(N) < lengths[:, None])
    source[np.arange(B), lengths - 1] = STOP
    target = rng.integers(3, V, size=(B, T))
    target[:, 0] = START
    return {"source": source, "target": target}


def _without_padding(inputs, rng):
    inputs["source"][inputs["source"] == PAD] = STOP


def _case(text, edit=None, edge=False, **sizes):
    return Case(text, sizes={"V": 13, "D": 12, "H": 3, "L": 2, **sizes}, edit=edit, edge=edge)


@exercise(
    points=3,
    section="The whole model",
    source="Vaswani et al. 2017, sections 3.1, 3.4 and 3.5; its layers with the norms in front: Xiong et al. 2020",
    outputs="logits",
    formula="embed(tokens)[t] = √D · E[tokens[t]] + p_t with p_t[2i] = sin(t ω_i), p_t[2i+1] = cos(t ω_i), ω_i = 10000^(−2i/D), t"
    " = 0, 1, …; memory = encoder_norm(encoder(embed(source))); Y = decoder(embed(target), memory), causal; padding of the source"
    " is attended to by nobody; logits = decoder_norm(Y) Eᵀ; E = embedding.weight [V, D], source [B, N], target [B, T], memory"
    " [B, N, D], Y [B, T, D], logits [B, T, V]",
    cases=[
        _case("padded sources"),
        _case("sources without padding", edit=_without_padding),
        _case("one block", D=10, H=2, L=1),
        _case("translations as long as their sources, three blocks", N="T", D=8, H=4, L=3),
        _case("as many tokens as features", edge=True, D=16, H=2, L=1, V="D"),
        _case("long sources", edge=True, L=1, N=40, T=35),
    ],
    draws=_drawn,
)
class Transformer(nn.Module):
    def __init__(self, V: int, D: int, H: int, D_F: int, L: int):
        super().__init__()
        self.embedding = nn.Embedding(V, D)
        self.encoder = nn.ModuleList(nn.TransformerEncoderLayer(D, H, D_F, **LAYER) for _ in range(L))
        self.encoder_norm = nn.LayerNorm(D)
        self.decoder = nn.ModuleList(nn.TransformerDecoderLayer(D, H, D_F, **LAYER) for _ in range(L))
        self.decoder_norm = nn.LayerNorm(D)

    def forward(self, source: Int[Tensor, "B N"], target: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        E = self.embedding.weight
        padding = source.eq(PAD)  # torch hides what is True
        places = torch.arange(target.shape[1], device=E.device)
        memory, Y = (E[words] * math.sqrt(E.shape[1]) + _waves(words, E) for words in (source, target))
        for layer in self.encoder:
            memory = layer(memory, src_key_padding_mask=padding)
        memory = self.encoder_norm(memory)
        for layer in self.decoder:
            Y = layer(Y, memory, tgt_mask=places.unsqueeze(1) < places, memory_key_padding_mask=padding)
        return torch.einsum("btd,vd->btv", self.decoder_norm(Y), E)


def _waves(words, E):
    """Sines and cosines of the positions, [N, D]: the imaginary and the real part of a turn."""
    D = E.shape[1]
    omega = torch.exp(torch.arange(0, D, 2, device=E.device) * (-math.log(BASE) / D))
    turns = torch.polar(torch.ones_like(omega), torch.arange(words.shape[1], device=E.device).unsqueeze(1) * omega)
    return torch.view_as_real(turns).flip(-1).flatten(1)


def _angles(self, N, first=0, exponent=1.0):
    """t·ω_i, [N, D/2]."""
    E = self.embedding.weight
    i = torch.arange(E.shape[1] // 2, device=E.device)
    t = torch.arange(first, first + N, device=E.device, dtype=E.dtype)
    return t[:, None] / BASE ** (2 * exponent * i / E.shape[1])


def _in_turn(angles):
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def _embedded(self, words, place=_in_turn, scaled=(True, False), **wrong):
    """Embeddings and positions; `scaled` says which of both √D multiplies."""
    factors = (self.embedding.embedding_dim**0.5 if one else 1 for one in scaled)
    parts = F.embedding(words, self.embedding.weight), place(_angles(self, words.shape[1], **wrong))
    return sum(factor * part for factor, part in zip(factors, parts))


def _later(T, device, diagonal=1):
    return torch.ones(T, T, dtype=torch.bool, device=device).triu(diagonal)


def _hidden(source):
    return source == PAD


def _same(X):
    return X


def _run(
    self,
    source,
    target,
    *,
    embed=_embedded,
    embed_target=None,
    layers=_same,
    hide=(_hidden, _hidden),
    own=None,
    later=_later,
    ahead=None,
    encoded=None,
    decoded=None,
    memories=None,
):
    """The model; what is wrong may be its embeddings, its masks, its norms, or which layers there are and what they read."""
    X, Y = embed(self, source), (embed_target or embed)(self, target)
    paddings = [one and one(source) for one in hide]
    states = []
    for layer in layers(self.encoder):
        X = layer(X, src_mask=own, src_key_padding_mask=paddings[0])
        states.append(X)
    memory = (encoded or self.encoder_norm)(X)
    read = memories(states) if memories else [memory] * len(states)
    mask = later and later(target.shape[1], target.device)
    for layer, one in zip(layers(self.decoder), read):
        Y = layer(Y, one, tgt_mask=mask, memory_mask=ahead, memory_key_padding_mask=paddings[1])
    return (decoded or self.decoder_norm)(Y) @ self.embedding.weight.T


def _embedding(self, source, target, **wrong):
    """The model with a mistake in its embeddings, of both languages."""
    return _run(self, source, target, embed=lambda self, words: _embedded(self, words, **wrong))


@Transformer.misconception
def embeddings_not_scaled(self, source, target):
    """The embeddings are not multiplied by √D. As rows of the head they have to be small, and without the factor the positions,
    whose numbers are about 1, would drown them."""
    return _embedding(self, source, target, scaled=(False, False))


@Transformer.misconception
def no_positions(self, source, target):
    """Nothing tells the model where a token stands: positions are not added to the embeddings, and attention by itself does not
    know the order of the tokens it reads."""
    return _embedding(self, source, target, place=lambda angles: 0 * _in_turn(angles))


@Transformer.misconception
def padding_read_by_the_encoder(self, source, target):
    """Within the encoder, tokens attend to padding, so that what they become depends on how long the longest sentence of the
    batch is. Its layers need the mask too: src_key_padding_mask, True where it hides."""
    return _run(self, source, target, hide=(None, _hidden))


@Transformer.misconception
def padding_read_by_the_decoder(self, source, target):
    """The encoder leaves padding out, but the decoder attends to what it made there. Its layers need the mask of the source
    again: memory_key_padding_mask, True where it hides."""
    return _run(self, source, target, hide=(_hidden, None))


@Transformer.misconception
def padding_read_by_both(self, source, target):
    """Padding of the source is attended to like tokens. Both stacks have to leave it out: src_key_padding_mask in the encoder,
    memory_key_padding_mask in the decoder, True where they hide."""
    return _run(self, source, target, hide=(None, None))


@Transformer.misconception
def tokens_hidden(self, source, target):
    """The padding mask has the wrong polarity: tokens of the source are hidden, and padding is attended to. In the masks of
    torch's layers True means hidden: source == 0."""
    return _run(self, source, target, hide=[lambda source: source != PAD] * 2)


@Transformer.misconception
def later_tokens_seen(self, source, target):
    """Each position of the target attends to the later ones too, and so to the very token that it should predict. The decoder
    needs a causal mask: tgt_mask, True above the diagonal."""
    return _run(self, source, target, later=None)


@Transformer.misconception
def earlier_tokens_hidden(self, source, target):
    """The causal mask has the wrong polarity: what each position may attend to is hidden from it, and the later tokens are seen.
    In tgt_mask of torch's layers True means hidden: True above the diagonal."""
    return _run(self, source, target, later=lambda T, device: ~_later(T, device))


@Transformer.misconception
def encoder_causal(self, source, target):
    """The encoder is causal: each token of the source attends to earlier ones alone. The source is known from the start, and each
    of its tokens attends to all of them."""
    return _run(self, source, target, own=_later(source.shape[1], source.device))


@Transformer.misconception
def memory_not_normed(self, source, target):
    """The memory is what the last layer of the encoder gives, without encoder_norm. In a pre-norm model nothing else norms the
    residual stream at the end of a stack, nor in the decoder, which reads the memory as it is."""
    return _run(self, source, target, encoded=_same)


@Transformer.alternative
def as_a_student_writes_it(self, source, target):
    return _run(self, source, target)


@Transformer.alternative
def with_numbers_for_masks(self, source, target):
    """Masks that are added; a table that is filled column by column."""
    D = self.embedding.embedding_dim

    def embed(words):
        table = torch.zeros(words.shape[1], D, dtype=self.embedding.weight.dtype, device=words.device)
        t = torch.arange(words.shape[1], device=words.device, dtype=table.dtype).unsqueeze(1)
        rates = torch.pow(10_000, -torch.arange(0, D, 2, device=words.device, dtype=table.dtype) / D)
        table[:, 0::2], table[:, 1::2] = torch.sin(t * rates), torch.cos(t * rates)
        return self.embedding(words) * math.sqrt(D) + table.unsqueeze(0)

    X, Y = embed(source), embed(target)
    hidden = torch.zeros(source.shape, dtype=X.dtype, device=X.device).masked_fill(source == PAD, -math.inf)
    later = torch.full((target.shape[1],) * 2, -math.inf, dtype=X.dtype, device=X.device).triu(1)
    for layer in self.encoder:
        X = layer(X, src_key_padding_mask=hidden)
    X = self.encoder_norm(X)
    for layer in self.decoder:
        Y = layer(Y, X, tgt_mask=later, memory_key_padding_mask=hidden, tgt_is_causal=True)
    return F.linear(self.decoder_norm(Y), self.embedding.weight)
