"""Right answers to `qformer_parameters`, as others write them."""

import functools

import torch
from torch import nn

from autograder.bank.practice import practice


def _each_width(count):
    """The count, for each width of a picture encoder in D_P [S]."""

    @functools.wraps(count)
    def counted(L, D, F, D_P, every):
        return torch.tensor([count(L, D, F, width, every) for width in D_P.tolist()], device=D_P.device)

    return counted


@practice("transformers")
@_each_width
def hugging_face(L, D, F, D_P, every):
    class Attention(nn.Module):
        def __init__(self, is_cross_attention):
            super().__init__()
            width = D_P if is_cross_attention else D
            self.query = nn.Linear(D, D)
            self.key = nn.Linear(width, D)
            self.value = nn.Linear(width, D)
            self.dense = nn.Linear(D, D)
            self.LayerNorm = nn.LayerNorm(D)

    class Layer(nn.Module):
        def __init__(self, has_cross_attention):
            super().__init__()
            self.attention = Attention(is_cross_attention=False)
            if has_cross_attention:
                self.crossattention = Attention(is_cross_attention=True)
            self.intermediate_query = nn.Linear(D, F)
            self.output_query = nn.Linear(F, D)
            self.LayerNorm = nn.LayerNorm(D)

    with torch.device("meta"):
        layernorm = nn.LayerNorm(D)
        kinds = {crosses: sum(p.numel() for p in Layer(crosses).parameters()) for crosses in (False, True)}
    encoder = [kinds[layer_idx % every == 0] for layer_idx in range(L)]
    return sum(p.numel() for p in layernorm.parameters()) + sum(encoder)


@practice("nanoGPT")
@_each_width
def nano(L, D, F, D_P, every):
    out = {"ln_entrance": 2 * D}
    out["attention"] = L * (4 * D * D + 4 * D)
    out["ln_attention"] = L * 2 * D
    out["mlp/up"] = L * (D * F + F)
    out["mlp/down"] = L * (F * D + D)
    out["ln_mlp"] = L * 2 * D
    n_cross = len([i for i in range(L) if i % every == 0])
    out["cross/queries+output"] = n_cross * 2 * (D * D + D)
    out["cross/keys+values"] = n_cross * 2 * (D_P * D + D)
    out["ln_cross"] = n_cross * 2 * D
    return sum(out.values())


@practice("d2l")
@_each_width
def dive(L, D, F, D_P, every):
    dense = lambda num_inputs, num_hiddens: num_inputs * num_hiddens + num_hiddens  # noqa: E731
    addnorm = 2 * D
    num_params = addnorm
    for i in range(L):
        num_params += 4 * dense(D, D) + addnorm
        if i % every == 0:
            num_params += dense(D, D) + dense(D_P, D) + dense(D_P, D) + dense(D, D) + addnorm
        num_params += dense(D, F) + dense(F, D) + addnorm
    return num_params


@practice("salesforce/LAVIS")
@_each_width
def lavis(L, D, F, D_P, every):
    def attention(encoder_width):
        num = D * D + D  # query
        num += encoder_width * D + D  # key
        num += encoder_width * D + D  # value
        num += D * D + D  # output.dense
        num += D + D  # output.LayerNorm
        return num

    num_params = D + D  # embeddings.LayerNorm
    for layer_num in range(L):
        has_cross_attention = layer_num % every == 0
        num_params += attention(encoder_width=D)
        if has_cross_attention:
            num_params += attention(encoder_width=D_P)
        num_params += (D * F + F) + (F * D + D) + (D + D)
    return num_params


@practice("on the back of an envelope")
@_each_width
def envelope(L, D, F, D_P, every):
    crossings = (L - 1) // every + 1
    per_layer = 4 * D**2 + 2 * D * F + F + 9 * D
    per_crossing = 2 * D**2 + 2 * D * D_P + 6 * D
    return L * per_layer + crossings * per_crossing + 2 * D
