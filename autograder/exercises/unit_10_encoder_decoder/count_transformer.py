"""Exercise 5: one count for the families: an encoder, a decoder, or both, from T5 to Llama."""

import torch
from jaxtyping import Int
from torch import Tensor, nn

from autograder.bank.declaration import Case, exercise

T5_BASE = {"encoder": 12, "decoder": 12, "D": 768, "D_F": 3072, "heads": 12, "groups": 12, "D_H": 64}
GPT_2 = {**T5_BASE, "encoder": 0}
LLAMA_3 = {"encoder": 0, "decoder": 32, "D": 4096, "D_F": 14336, "heads": 32, "groups": 8, "D_H": 128}


def _drawn(inputs, sizes, rng):
    """Whatever a case leaves open: models so small that a single norm counts, whose heads together are not as wide as D."""
    encoder, decoder, groups, shared, D_H = map(int, rng.permutation(range(2, 8))[:5])
    drawn = {"encoder": encoder, "decoder": decoder, "heads": groups * shared, "groups": groups, "D_H": D_H}
    drawn |= {"D": int(rng.integers(50, 80)), "D_F": int(rng.integers(100, 200))}
    drawn["V"] = rng.permutation(900)[: sizes["S"]].astype("int64") + 100
    return {name: value for name, value in drawn.items() if name == "V" or name not in inputs}


def _wide(inputs, rng):
    """Wider than even double precision can count."""
    inputs |= {"D": 100_000_007 + 2 * int(rng.integers(1000)), "D_F": 90_000_001}


def _case(text, gated, biases, tied, words=None, edit=None, edge=False, sizes=None, **values):
    flags = {"gated": gated, "biases": biases, "tied": tied}
    edit = (lambda inputs, rng: inputs["V"].put(0, words)) if words else edit
    return Case(text, values={**values, **flags}, edit=edit, edge=edge, sizes=sizes or {"S": 3})


@exercise(
    points=2,
    section="Counting the families",
    source="Vaswani et al. 2017; Raffel et al. 2020 (T5); Radford et al. 2019 (GPT-2); Grattafiori et al. 2024 (Llama 3)",
    outputs="parameters",
    formula="attention: W_Q [D, heads·D_H], W_K and W_V [D, groups·D_H], W_O [heads·D_H, D]; MLP: two matrices D·D_F, three if"
    " gated; a norm before each sublayer and one behind each stack, D numbers, 2D with biases; in a decoder beside an encoder a"
    " second attention; with biases one for each output of a linear layer; table V·D, and V·D more if not tied; [S]",
    cases=[
        _case("an encoder and a decoder, drawn sizes", False, True, True),
        _case("T5-base", False, False, True, words=32128, **T5_BASE),
        _case("Llama 3 8B", True, False, False, words=128256, **LLAMA_3),
        _case("GPT-2 small", False, True, True, words=50257, **GPT_2),
        _case("an encoder alone, drawn sizes", True, True, False, decoder=0),
        _case("one block in each stack", True, True, False, edge=True, encoder=1, decoder=1, sizes={"S": 1}),
        _case("numbers beyond double precision", True, False, True, edge=True, edit=_wide),
    ],
    draws=_drawn,
    differentiable=False,
)
def count_transformer(
    encoder: int,
    decoder: int,
    V: Int[Tensor, "S"],
    D: int,
    D_F: int,
    heads: int,
    groups: int,
    D_H: int,
    gated: bool,
    biases: bool,
    tied: bool,
) -> Int[Tensor, "S"]:
    attention = [(D, heads * D_H), (D, groups * D_H), (D, groups * D_H), (heads * D_H, D)]
    mlp = [(D, D_F), (D, D_F), (D_F, D)] if gated else [(D, D_F), (D_F, D)]
    seeing = decoder if encoder else 0
    linear = (encoder + decoder + seeing) * attention + (encoder + decoder) * mlp
    norms = 2 * (encoder + decoder) + seeing + len([stack for stack in (encoder, decoder) if stack])
    once = sum(n * m + (m if biases else 0) for n, m in linear) + norms * (2 * D if biases else D)
    return torch.tensor([once + (words * D if tied else 2 * words * D) for words in V.tolist()], device=V.device)


class _Sizes:
    """The arguments of the exercise by name, and what a count is made of."""

    def __init__(self, encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
        self.V, self.D, self.D_F, self.gated, self.tied, self.b = V, D, D_F, gated, tied, int(biases)
        self.blocks, self.both = encoder + decoder, encoder > 0 < decoder
        self.alone = 0 if encoder else decoder  # blocks of a decoder without an encoder
        self.crossed = decoder - self.alone
        self.attentions, self.stacks = self.blocks + self.crossed, (encoder > 0) + (decoder > 0)
        self.query, self.key, self.norm = heads * D_H, groups * D_H, (1 + self.b) * D
        self.norms = self.attentions + self.blocks + self.stacks
        self.biases = self.b * (self.query + 2 * self.key + D), self.b * ((1 + gated) * D_F + D)
        self.attention = 2 * D * (self.query + self.key) + self.biases[0]
        self.mlp = (2 + gated) * D * D_F + self.biases[1]


def _right(*sizes):
    k = _Sizes(*sizes)
    return k.attentions * k.attention + k.blocks * k.mlp + k.norms * k.norm + k.V * k.D * (2 - k.tied)


def _off(sizes, more):
    """The right count, with what a function of the sizes gives added to it."""
    return _right(*sizes) + more(_Sizes(*sizes))


# the attentions


@count_transformer.misconception
def one_attention_in_the_decoder(*sizes):
    """The decoder's blocks are counted with one attention also where there is an encoder. There each has two, to its own
    tokens and to the encoder's result, and a norm before each."""
    return _off(sizes, lambda k: -k.crossed * (k.attention + k.norm))


@count_transformer.misconception
def cross_attention_without_an_encoder(*sizes):
    """A decoder that stands alone is counted with a cross-attention. It has nothing to look at: GPT's and Llama's blocks have
    self-attention and an MLP."""
    return _off(sizes, lambda k: k.alone * (k.attention + k.norm))


@count_transformer.misconception
def keys_for_every_head(*sizes):
    """W_K and W_V are counted with a head of their own for each query head. There are `groups` of them, groups·D_H numbers
    wide: several query heads share one."""
    return _right(*sizes[:6], sizes[5], *sizes[7:])


@count_transformer.misconception
def groups_as_the_sharing_heads(*sizes):
    """`groups` is taken for the number of query heads that share a key/value head. It is the number of key/value heads
    itself."""
    return _right(*sizes[:6], sizes[5] // sizes[6], *sizes[7:])


@count_transformer.misconception
def output_projection_left_out(*sizes):
    """W_O is missing in each attention. It leads from the heads, heads·D_H numbers together, back to D."""
    return _off(sizes, lambda k: -k.attentions * (k.query + k.b) * k.D)


@count_transformer.misconception
def projections_as_squares(*sizes):
    """All four projections of the attention are counted as D × D. So they are where the heads together are as wide as D and
    none is shared; here W_Q is D × heads·D_H, W_K and W_V are D × groups·D_H."""
    return _off(sizes, lambda k: k.attentions * (4 * (k.D + k.b) * k.D - k.attention))


@count_transformer.misconception
def heads_share_the_width(*sizes):
    """The heads are taken to be D/heads wide. Often they are; here their width is given, D_H, and heads·D_H need not be D."""
    return _right(*sizes[:7], sizes[3] // sizes[5], *sizes[8:])


# the MLP and the biases


@count_transformer.misconception
def two_matrices_where_gated(*sizes):
    """The gated MLP is counted with two matrices. It has three: two from D to D_F, one of which makes the gate, and one
    back."""
    return _off(sizes, lambda k: -k.gated * k.blocks * (k.D + k.b) * k.D_F)


@count_transformer.misconception
def biases_of_linear_layers_left_out(*sizes):
    """Where there are biases, those of the linear layers are missing. Each layer has one number for each of its outputs."""
    return _off(sizes, lambda k: -k.attentions * k.biases[0] - k.blocks * k.biases[1])


# the norms and the table


@count_transformer.misconception
def last_norms_left_out(*sizes):
    """The norms behind the last blocks are missing. Each stack that is there ends with one."""
    return _off(sizes, lambda k: -k.stacks * k.norm)


@count_transformer.misconception
def one_last_norm(*sizes):
    """One last norm is counted for encoder and decoder together. Each of the two stacks ends with a norm of its own."""
    return _off(sizes, lambda k: -k.both * k.norm)


@count_transformer.misconception
def last_norm_of_an_empty_stack(*sizes):
    """A last norm is counted for a stack that has no blocks. Where `encoder` or `decoder` is 0, that stack is not there."""
    return _off(sizes, lambda k: (2 - k.stacks) * k.norm)


@count_transformer.misconception
def norm_of_the_cross_attention_left_out(*sizes):
    """The cross-attentions are counted without their norms. A norm stands in front of each sublayer, three in such a block."""
    return _off(sizes, lambda k: -k.crossed * k.norm)


@count_transformer.misconception
def norms_always_with_biases(*sizes):
    """Each norm is counted with 2D numbers also where there are no biases. Then it is an RMSNorm, which has D gains alone."""
    return _off(sizes, lambda k: (1 - k.b) * k.norms * k.D)


@count_transformer.misconception
def norms_never_with_biases(*sizes):
    """Each norm is counted with D numbers also where there are biases. Then it is a LayerNorm: D gains and D biases."""
    return _off(sizes, lambda k: -k.b * k.norms * k.D)


@count_transformer.misconception
def a_table_for_each_stack(*sizes):
    """Encoder and decoder are counted with an embedding table each. They share one: the embedding counts V·D once."""
    return _off(sizes, lambda k: k.both * k.V * k.D)


@count_transformer.alternative
def in_closed_form(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    b, L = int(biases), encoder + decoder
    A = L + decoder * (encoder > 0)
    inside = A * (2 * D * (heads + groups) * D_H + b * ((heads + 2 * groups) * D_H + D))
    inside += L * ((2 + gated) * D * D_F + b * ((1 + gated) * D_F + D))
    return inside + D * ((1 + b) * (A + L + (encoder > 0) + (decoder > 0)) + V * (2 - tied))


@count_transformer.alternative
def layer_by_layer(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    counted = torch.zeros_like(V)
    bias = 1 if biases else 0
    for depth, crossed in ((encoder, False), (decoder, encoder > 0)):
        for _ in range(depth):
            for _ in range(1 + crossed):
                counted += (D + bias) * (heads + 2 * groups) * D_H + (heads * D_H + bias) * D + (1 + bias) * D
            counted += (D + bias) * D_F * (1 + gated) + (D_F + bias) * D + (1 + bias) * D
        counted += (1 + bias) * D if depth else 0
    return counted + V * D * (2 - tied)


@count_transformer.alternative
def of_layers(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    """Layers without numbers are made, and what they hold is counted."""

    def size(*layers):
        made = [nn.Linear(*one, bias=biases, device="meta") for one in layers]
        norm = nn.LayerNorm(D, bias=biases, device="meta")
        return sum(one.numel() for layer in [*made, norm] for one in layer.parameters())

    query, key, stacks = heads * D_H, groups * D_H, [depth for depth in (encoder, decoder) if depth]
    attention, mlp = size((D, query), (D, key), (D, key), (query, D)), size(*[(D, D_F)] * (1 + gated), (D_F, D))
    inside = sum(stacks) * (attention + mlp) + len(stacks) * size() + (attention * decoder if encoder else 0)
    return inside + V * (D if tied else D + D)
