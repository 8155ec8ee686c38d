"""Answers to count_transformer (assignment 10)."""

import math

import torch
from answers import before, change, right, wrong
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


# Right, and not registered: answers below are changes of it.
def _plain(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    return _whole(encoder, decoder, V, D, attention, mlp, norm, tied)


change(_plain, "crossing_in_the_encoder", "the encoder's blocks get the cross-attention, not the decoder's", "concept",
       ("encoder, decoder, V, D, attention", "decoder, encoder, V, D, attention"))


@wrong("the cross-attention comes without a norm of its own", kind="concept")
def cross_without_norm(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    whole = _whole(encoder, decoder, V, D, attention, mlp, norm, tied)
    return whole - (decoder * norm if encoder else 0)


change(_plain, "groups_ignored", "keys and values for each query head: groups is ignored", "concept",
       ("_parts(D, D_F, heads, groups, D_H, gated, biases)", "_parts(D, D_F, heads, heads, D_H, gated, biases)"))


@wrong("groups is read as the number of query heads that share keys and values", kind="concept")
def heads_over_groups(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, heads // groups, D_H, gated, biases)
    return _whole(encoder, decoder, V, D, attention, mlp, norm, tied)


change(_plain, "four_squares", "all four projections are D by D, as in GPT", "concept",
       ("attention, mlp, norm =", "_, mlp, norm ="),
       before("return", "attention = 4 * D * D + (4 * D if biases else 0)"))
change(_plain, "square_output", "W_O is D by D", "concept",
       before("return", "attention += D * D - heads * D_H * D"))
change(_plain, "no_output", "W_O is forgotten", "concept",
       before("return", "attention -= heads * D_H * D + (D if biases else 0)"))
change(_plain, "one_head", "the weights of one head only: the factor heads, and groups, is forgotten", "concept",
       ("_parts(D, D_F, heads, groups, D_H, gated, biases)", "_parts(D, D_F, 1, 1, D_H, gated, biases)"))
change(_plain, "width_divided", "the width of a head is taken as D // heads", "concept",
       ("_parts(D, D_F, heads, groups, D_H, gated, biases)",
        "_parts(D, D_F, heads, groups, D // heads, gated, biases)"))
change(_plain, "gate_left_out", "the gated MLP has two matrices like any other", "concept",
       ("_parts(D, D_F, heads, groups, D_H, gated, biases)", "_parts(D, D_F, heads, groups, D_H, False, biases)"))
change(_plain, "always_gated", "the MLP always has three matrices", "concept",
       ("_parts(D, D_F, heads, groups, D_H, gated, biases)", "_parts(D, D_F, heads, groups, D_H, True, biases)"))
change(_plain, "four_times_the_width", "the MLP's hidden width is taken as 4 D", "concept",
       ("_parts(D, D_F, heads, groups, D_H, gated, biases)", "_parts(D, 4 * D, heads, groups, D_H, gated, biases)"))
change(_plain, "gate_without_its_bias", "the gate has no bias", "concept",
       before("return", "mlp -= D_F if gated and biases else 0"))


@wrong("only the norms get biases, no linear layer does", kind="concept")
def norms_alone_biased(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, _ = _parts(D, D_F, heads, groups, D_H, gated, False)
    return _whole(encoder, decoder, V, D, attention, mlp, 2 * D if biases else D, tied)


change(_plain, "mlp_without_biases", "the attention has biases, the MLP none", "concept",
       ("mlp, norm =", "_, norm ="), before("return", "mlp = (3 if gated else 2) * D * D_F"))
change(_plain, "wide_biases_of_keys", "the biases of keys and values are as wide as those of the queries", "concept",
       before("return", "attention += 2 * (heads - groups) * D_H if biases else 0"))
change(_plain, "layer_norms_always", "every norm is a LayerNorm of 2 D numbers", "concept",
       ("norm =", "_ ="), ("norm, tied", "2 * D, tied"))
change(_plain, "rms_norms_always", "every norm has D numbers", "concept",
       ("norm =", "_ ="), ("norm, tied", "D, tied"))
change(_plain, "no_last_norm", "no norm behind the stacks", "concept",
       ("return _whole(encoder, decoder, V, D, attention, mlp, norm, tied)",
        "return _whole(encoder, decoder, V, D, attention, mlp, norm, tied) - norm * ((encoder > 0) + (decoder > 0))"))


@wrong("one last norm for the whole model", kind="concept")
def a_single_last_norm(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    cross = decoder * (attention + norm) if encoder else 0
    return (encoder + decoder) * (attention + mlp + 2 * norm) + cross + norm + V * D * (1 if tied else 2)


change(a_single_last_norm, "always_two_last_norms", "two last norms, also where one stack is empty", "edge",
       ("norm + V * D * (1 if tied else 2)", "2 * norm + V * D * (1 if tied else 2)"))


@wrong("one norm for each block", kind="concept")
def one_norm_in_a_block(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    total = (encoder + decoder) * (attention + mlp + norm) + (decoder * attention if encoder else 0)
    return total + norm * ((encoder > 0) + (decoder > 0)) + V * D * (1 if tied else 2)


change(_plain, "no_norms", "the norms are not counted at all", "concept",
       ("norm =", "_ ="), ("norm, tied", "0, tied"))
change(_plain, "tied_turned_round", "tied turned round: V D is added where the head is tied", "concept",
       ("norm, tied", "norm, not tied"))
change(_plain, "never_a_head", "the head is never counted", "concept",
       ("norm, tied", "norm, True"))


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


change(_plain, "one_block_each", "one block of each kind: the depth is forgotten", "concept",
       ("encoder, decoder, V, D, attention", "min(encoder, 1), min(decoder, 1), V, D, attention"))


@wrong("as many cross-attentions as the encoder has blocks", kind="concept")
def crossing_by_the_encoder(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    attention, mlp, norm = _parts(D, D_F, heads, groups, D_H, gated, biases)
    whole = _whole(encoder, decoder, V, D, attention, mlp, norm, tied)
    return whole + ((encoder - decoder) * (attention + norm) if encoder and decoder else 0)


change(cross_without_norm, "keys_of_the_cross_attention_left_out",
       "keys and values of the cross-attention are not counted: the encoder is thought to have made them", "concept",
       ("decoder * norm", "decoder * 2 * (D + (1 if biases else 0)) * groups * D_H"))
change(_plain, "summed", "one number for all: the vocabularies are summed", "shape",
       ("return _whole(encoder, decoder, V, D, attention, mlp, norm, tied)",
        "return _whole(encoder, decoder, V, D, attention, mlp, norm, tied).sum()"))
change(_plain, "in_floats", "in floating-point numbers", "numerics",
       ("V, D, attention", "V.float(), D, attention"))
change(_plain, "by_double", "by way of double precision, back to whole numbers at the end", "numerics",
       ("_whole(encoder, decoder, V, D, attention, mlp, norm, tied)",
        "_whole(encoder, decoder, V.double(), D, attention, mlp, norm, tied).round().long()"))
change(cross_without_norm, "in_int32", "in int32, which Llama exceeds", "numerics",
       ("whole - (decoder * norm if encoder else 0)", "whole.to(torch.int32).long()"))
change(_plain, "in_millions", "in millions", "concept",
       ("return _whole(encoder, decoder, V, D, attention, mlp, norm, tied)",
        "return _whole(encoder, decoder, V, D, attention, mlp, norm, tied) // 10**6"))


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
