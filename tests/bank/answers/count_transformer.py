"""Answers to count_transformer (assignment 10)."""

import math

import torch
from answers import right, wrong
from torch import nn

# ---------------------------------------------------------------- right


@right("One block after the other in a loop, sublayer by sublayer")
def block_after_block(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    def linear(inputs, outputs):
        return inputs * outputs + (outputs if biases else 0)

    def norm():
        return D + (D if biases else 0)

    def attention():
        return linear(D, heads * D_H) + 2 * linear(D, groups * D_H) + linear(heads * D_H, D)

    total = 0
    for _ in range(encoder):
        total += norm() + attention() + norm() + linear(D_F, D) + linear(D, D_F) * (2 if gated else 1)
    for _ in range(decoder):
        total += norm() + attention()
        if encoder:
            total += norm() + attention()
        total += norm() + linear(D_F, D) + linear(D, D_F) * (2 if gated else 1)
    for depth in (encoder, decoder):
        if depth:
            total += norm()
    tables = 1 if tied else 2
    return V * (tables * D) + total


@right("A list of all shapes, and math.prod of each")
def all_shapes(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    q, kv = heads * D_H, groups * D_H
    attention = [(q, D), (kv, D), (kv, D), (D, q)]
    mlp = [(D_F, D)] * (1 + gated) + [(D, D_F)]
    norm = [(D,), (D,)] if biases else [(D,)]

    def with_biases(weights):
        return weights + [(rows,) for rows, _ in weights] if biases else weights

    plain = norm + with_biases(attention) + norm + with_biases(mlp)
    cross = norm + with_biases(attention)
    shapes = plain * (encoder + decoder) + (cross * decoder if encoder > 0 else [])
    shapes += norm * ((encoder > 0) + (decoder > 0))
    fixed = sum(math.prod(shape) for shape in shapes)
    return fixed + V * D if tied else fixed + V * D + D * V


@right("Modules on the meta device, Embedding and head too, for each size of the vocabulary")
def modules_on_meta(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.gain = nn.Parameter(torch.empty(D))
            if biases:
                self.bias = nn.Parameter(torch.empty(D))

    def attention():
        sizes = [(D, heads * D_H), (D, groups * D_H), (D, groups * D_H), (heads * D_H, D)]
        return nn.ModuleList([nn.Linear(*size, biases) for size in sizes])

    def mlp():
        return nn.ModuleList([*(nn.Linear(D, D_F, biases) for _ in range(2 if gated else 1)), nn.Linear(D_F, D, biases)])

    counts = []
    for words in V.tolist():
        with torch.device("meta"):
            layers = [nn.Embedding(words, D)]
            for _ in range(encoder):
                layers += [Norm(), attention(), Norm(), mlp()]
            layers += [Norm()] if encoder else []
            for _ in range(decoder):
                layers += [Norm(), attention()]
                layers += [Norm(), attention()] if encoder else []
                layers += [Norm(), mlp()]
            layers += [Norm()] if decoder else []
            if not tied:
                layers.append(nn.Linear(D, words, bias=False))
            model = nn.ModuleList(layers)
        counts.append(sum(p.numel() for p in model.parameters()))
    return torch.tensor(counts, device=V.device)


@right("One polynomial, flags as 0 and 1")
def one_polynomial(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    g, b, t = int(gated), int(biases), int(tied)
    L, C = encoder + decoder, decoder * int(encoder > 0)
    stacks = int(encoder > 0) + int(decoder > 0)
    A = 2 * D * D_H * (heads + groups) + b * (D_H * heads + 2 * D_H * groups + D)
    M = D * D_F * (2 + g) + b * (D_F * (1 + g) + D)
    return V * D * (2 - t) + L * M + (L + C) * A + (2 * L + C + stacks) * D * (1 + b)


@right("Weights, biases and norms counted apart, added at the end, in tensors of V's type")
def kinds_apart(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    mlps = encoder + decoder
    attentions = mlps + (decoder if encoder != 0 else 0)
    weights = attentions * (D * heads * D_H + D * groups * D_H + D * groups * D_H + heads * D_H * D)
    weights += mlps * (3 if gated else 2) * D * D_F
    bias = attentions * (heads * D_H + groups * D_H + groups * D_H + D) + mlps * ((2 if gated else 1) * D_F + D)
    norms = attentions + mlps + bool(encoder) + bool(decoder)
    numbers = weights + norms * D
    if biases:
        numbers += bias + norms * D
    table = V * D
    head = torch.zeros_like(V) if tied else V * D
    return table + head + torch.full_like(V, numbers)


@right("Recursion over the blocks of each stack")
def recursion(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    one = lambda n, m: (n + 1) * m if biases else n * m
    norm = 2 * D if biases else D
    attend = one(D, heads * D_H) + one(D, groups * D_H) * 2 + one(heads * D_H, D) + norm
    think = one(D, D_F) + (one(D, D_F) if gated else 0) + one(D_F, D) + norm

    def stack(depth, each):
        return each + stack(depth - 1, each) if depth else 0

    encoded = stack(encoder, attend + think) + norm if encoder else 0
    decoded = stack(decoder, (2 * attend if encoder else attend) + think) + norm if decoder else 0
    return torch.stack([words * D for words in V]) * (1 if tied else 2) + encoded + decoded


@right("A dictionary of what there is and how often")
def how_often(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    cross = decoder if encoder and decoder else 0
    often = {
        (D, heads * D_H): encoder + decoder + cross,
        (heads * D_H, D, "back"): encoder + decoder + cross,
        (D, groups * D_H, "kv"): 2 * (encoder + decoder + cross),
        (D, D_F, "up"): (encoder + decoder) * (2 if gated else 1),
        (D_F, D, "down"): encoder + decoder,
    }
    total = 0
    for (n, m, *_), times in often.items():
        total += times * n * m
        if biases:
            total += times * m
    total += (2 * encoder + 2 * decoder + cross + min(encoder, 1) + min(decoder, 1)) * D * (1 + int(biases))
    return torch.as_tensor([total + words * D + (0 if tied else words * D) for words in V.tolist()]).to(V.device)


@right("Differences: the count with one block more tells what a block has, summed from an empty model")
def by_growing(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    plus = 1 if biases else 0
    model = V.clone() * 0

    def grow(*layers):
        nonlocal model
        for inputs, outputs in layers:
            model = model + inputs * outputs + plus * outputs

    def grow_norm():
        nonlocal model
        model = model + (D << plus)

    inner, shared = heads * D_H, groups * D_H
    for stack, depth in {"encoder": encoder, "decoder": decoder}.items():
        for _ in range(depth):
            sublayers = ["attention"] * (2 if stack == "decoder" and encoder else 1) + ["mlp"]
            for one in sublayers:
                grow_norm()
                if one == "attention":
                    grow((D, inner), (D, shared), (D, shared), (inner, D))
                else:
                    grow((D, D_F), (D_F, D), *([(D, D_F)] if gated else []))
        if depth > 0:
            grow_norm()
    return model + torch.mul(V, D) + (torch.mul(V, D) if not tied else 0)


# ---------------------------------------------------------------- wrong


def _parts(D, D_F, heads, groups, D_H, gated, biases):
    """(attention, mlp, norm), right."""
    b = 1 if biases else 0
    attention = (D + b) * heads * D_H + 2 * (D + b) * groups * D_H + (heads * D_H + b) * D
    mlp = (2 if gated else 1) * (D + b) * D_F + (D_F + b) * D
    return attention, mlp, D + b * D


def _whole(encoder, decoder, V, D, attention, mlp, norm, tied):
    """The whole, right, of right parts."""
    total = (encoder + decoder) * (attention + mlp + 2 * norm)
    if encoder and decoder:
        total += decoder * (attention + norm)
    total += norm * ((encoder > 0) + (decoder > 0))
    return total + V * D * (1 if tied else 2)


@wrong("the decoder beside an encoder has no cross-attention", kind="concept")
def no_cross_attention(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    total = (encoder + decoder) * (attention + mlp + 2 * norm) + norm * ((encoder > 0) + (decoder > 0))
    return total + V * D * (1 if tied else 2)


@wrong("every decoder has cross-attention, also GPT's", kind="concept")
def always_crossing(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    total = encoder * (attention + mlp + 2 * norm) + decoder * (2 * attention + mlp + 3 * norm)
    total += norm * ((encoder > 0) + (decoder > 0))
    return total + V * D * (1 if tied else 2)


@wrong("the encoder's blocks get the cross-attention, not the decoder's", kind="concept")
def crossing_in_the_encoder(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    return _whole(decoder, encoder, V, D, attention, mlp, norm, tied)


@wrong("the cross-attention comes without a norm of its own", kind="concept")
def cross_without_norm(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    whole = _whole(encoder, decoder, V, D, attention, mlp, norm, tied)
    return whole - (decoder * norm if encoder else 0)


@wrong("keys and values for each query head: groups is ignored", kind="concept")
def groups_ignored(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, heads, D_H, gated, biases)
    return _whole(encoder, decoder, V, D, attention, mlp, norm, tied)


@wrong("groups is read as the number of query heads that share keys and values", kind="concept")
def heads_over_groups(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, heads // groups, D_H, gated, biases)
    return _whole(encoder, decoder, V, D, attention, mlp, norm, tied)


@wrong("all four projections are D by D, as in GPT", kind="concept")
def four_squares(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    _, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    attention = 4 * D * D + (4 * D if biases else 0)
    return _whole(encoder, decoder, V, D, attention, mlp, norm, tied)


@wrong("W_O is D by D", kind="concept")
def square_output(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    attention += D * D - heads * D_H * D
    return _whole(encoder, decoder, V, D, attention, mlp, norm, tied)


@wrong("W_O is forgotten", kind="concept")
def no_output(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    attention -= heads * D_H * D + (D if biases else 0)
    return _whole(encoder, decoder, V, D, attention, mlp, norm, tied)


@wrong("the weights of one head only: the factor heads, and groups, is forgotten", kind="concept")
def one_head(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, 1, 1, D_H, gated, biases)
    return _whole(encoder, decoder, V, D, attention, mlp, norm, tied)


@wrong("the width of a head is taken as D // heads", kind="concept")
def width_divided(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D // heads, gated, biases)
    return _whole(encoder, decoder, V, D, attention, mlp, norm, tied)


@wrong("the gated MLP has two matrices like any other", kind="concept")
def gate_left_out(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, False, biases)
    return _whole(encoder, decoder, V, D, attention, mlp, norm, tied)


@wrong("the MLP always has three matrices", kind="concept")
def always_gated(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, True, biases)
    return _whole(encoder, decoder, V, D, attention, mlp, norm, tied)


@wrong("the MLP's hidden width is taken as 4 D", kind="concept")
def four_times_the_width(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, 4 * D, heads, groups, D_H, gated, biases)
    return _whole(encoder, decoder, V, D, attention, mlp, norm, tied)


@wrong("the gate has no bias", kind="concept")
def gate_without_its_bias(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    mlp -= D_F if gated and biases else 0
    return _whole(encoder, decoder, V, D, attention, mlp, norm, tied)


@wrong("only the norms get biases, no linear layer does", kind="concept")
def norms_alone_biased(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, _ = _parts(D, D_F, heads, groups, D_H, gated, False)
    return _whole(encoder, decoder, V, D, attention, mlp, 2 * D if biases else D, tied)


@wrong("the attention has biases, the MLP none", kind="concept")
def mlp_without_biases(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, _, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    mlp = (3 if gated else 2) * D * D_F
    return _whole(encoder, decoder, V, D, attention, mlp, norm, tied)


@wrong("the biases of keys and values are as wide as those of the queries", kind="concept")
def wide_biases_of_keys(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    attention += 2 * (heads - groups) * D_H if biases else 0
    return _whole(encoder, decoder, V, D, attention, mlp, norm, tied)


@wrong("every norm is a LayerNorm of 2 D numbers", kind="concept")
def layer_norms_always(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, _ = _parts(D, D_F, heads, groups, D_H, gated, biases)
    return _whole(encoder, decoder, V, D, attention, mlp, 2 * D, tied)


@wrong("every norm has D numbers", kind="concept")
def rms_norms_always(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, _ = _parts(D, D_F, heads, groups, D_H, gated, biases)
    return _whole(encoder, decoder, V, D, attention, mlp, D, tied)


@wrong("no norm behind the stacks", kind="concept")
def no_last_norm(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    return _whole(encoder, decoder, V, D, attention, mlp, norm, tied) - norm * ((encoder > 0) + (decoder > 0))


@wrong("one last norm for the whole model", kind="concept")
def a_single_last_norm(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    cross = decoder * (attention + norm) if encoder else 0
    return (encoder + decoder) * (attention + mlp + 2 * norm) + cross + norm + V * D * (1 if tied else 2)


@wrong("two last norms, also where one stack is empty", kind="edge")
def always_two_last_norms(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    cross = decoder * (attention + norm) if encoder else 0
    return (encoder + decoder) * (attention + mlp + 2 * norm) + cross + 2 * norm + V * D * (1 if tied else 2)


@wrong("one norm for each block", kind="concept")
def one_norm_in_a_block(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    total = (encoder + decoder) * (attention + mlp + norm) + (decoder * attention if encoder else 0)
    return total + norm * ((encoder > 0) + (decoder > 0)) + V * D * (1 if tied else 2)


@wrong("the norms are not counted at all", kind="concept")
def no_norms(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, _ = _parts(D, D_F, heads, groups, D_H, gated, biases)
    return _whole(encoder, decoder, V, D, attention, mlp, 0, tied)


@wrong("tied turned round: V D is added where the head is tied", kind="concept")
def tied_turned_round(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    return _whole(encoder, decoder, V, D, attention, mlp, norm, not tied)


@wrong("the head is never counted", kind="concept")
def never_a_head(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    return _whole(encoder, decoder, V, D, attention, mlp, norm, True)


@wrong("an embedding for the source and one for the target", kind="concept")
def two_embeddings(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    tables = (1 if encoder else 0) + (1 if decoder else 0) + (0 if tied else 1)
    return _whole(encoder, decoder, V, D, attention, mlp, norm, True) + (tables - 1) * V * D


@wrong("the untied head has a bias of V numbers where there are biases", kind="concept")
def head_with_bias(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    total = _whole(encoder, decoder, V, D, attention, mlp, norm, tied)
    if biases and not tied:
        total = total + V
    return total


@wrong("the head has no numbers of its own, and V D is missing altogether where it is tied", kind="concept")
def tied_table_missing(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    return _whole(encoder, decoder, V, D, attention, mlp, norm, tied) - V * D


@wrong("one block of each kind: the depth is forgotten", kind="concept")
def one_block_each(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    return _whole(min(encoder, 1), min(decoder, 1), V, D, attention, mlp, norm, tied)


@wrong("as many cross-attentions as the encoder has blocks", kind="concept")
def crossing_by_the_encoder(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    whole = _whole(encoder, decoder, V, D, attention, mlp, norm, tied)
    return whole + ((encoder - decoder) * (attention + norm) if encoder and decoder else 0)


@wrong("keys and values of the cross-attention are not counted: the encoder is thought to have made them", kind="concept")
def keys_of_the_cross_attention_left_out(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    whole = _whole(encoder, decoder, V, D, attention, mlp, norm, tied)
    return whole - (decoder * 2 * (D + (1 if biases else 0)) * groups * D_H if encoder else 0)


@wrong("one number for all: the vocabularies are summed", kind="shape")
def summed(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    return _whole(encoder, decoder, V, D, attention, mlp, norm, tied).sum()


@wrong("in floating-point numbers", kind="numerics")
def in_floats(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    return _whole(encoder, decoder, V.float(), D, attention, mlp, norm, tied)


@wrong("by way of double precision, back to whole numbers at the end", kind="numerics")
def by_double(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    return _whole(encoder, decoder, V.double(), D, attention, mlp, norm, tied).round().long()


@wrong("in int32, which Llama exceeds", kind="numerics")
def in_int32(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    whole = _whole(encoder, decoder, V, D, attention, mlp, norm, tied)
    return whole.to(torch.int32).long()


@wrong("in millions", kind="concept")
def in_millions(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    return _whole(encoder, decoder, V, D, attention, mlp, norm, tied) // 10**6


@wrong("V is multiplied in place", kind="interface")
def in_place(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    fixed = _whole(encoder, decoder, 0, D, attention, mlp, norm, tied)
    V *= D if tied else 2 * D
    V += fixed
    return V


@wrong("a list of Python numbers", kind="interface")
def a_list(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    return [_whole(encoder, decoder, v, D, attention, mlp, norm, tied) for v in V.tolist()]
