"""Right answers to `count_transformer`, as others write them."""

import torch
from torch import nn

from autograder.bank.practice import practice


@practice("transformers")
def hugging_face(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    class RMSNorm(nn.Module):
        def __init__(self, hidden_size):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(hidden_size))

    def norm():
        return nn.LayerNorm(D) if biases else RMSNorm(D)

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q_proj = nn.Linear(D, heads * D_H, bias=biases)
            self.k_proj = nn.Linear(D, groups * D_H, bias=biases)
            self.v_proj = nn.Linear(D, groups * D_H, bias=biases)
            self.o_proj = nn.Linear(heads * D_H, D, bias=biases)

    class MLP(nn.Module):
        def __init__(self):
            super().__init__()
            if gated:
                self.gate_proj = nn.Linear(D, D_F, bias=biases)
            self.up_proj = nn.Linear(D, D_F, bias=biases)
            self.down_proj = nn.Linear(D_F, D, bias=biases)

    class Layer(nn.Module):
        def __init__(self, is_cross_attention):
            super().__init__()
            self.self_attn, self.input_layernorm = Attention(), norm()
            if is_cross_attention:
                self.cross_attn, self.cross_layernorm = Attention(), norm()
            self.mlp, self.post_attention_layernorm = MLP(), norm()

    class Stack(nn.Module):
        def __init__(self, num_layers, is_cross_attention=False):
            super().__init__()
            self.layers = nn.ModuleList([Layer(is_cross_attention) for _ in range(num_layers)])
            self.norm = norm()

    with torch.device("meta"):
        stacks = nn.ModuleList()
        if encoder > 0:
            stacks.append(Stack(encoder))
        if decoder > 0:
            stacks.append(Stack(decoder, is_cross_attention=encoder > 0))
    num_parameters = sum(p.numel() for p in stacks.parameters())
    embed_tokens = V * D
    lm_head = 0 if tied else V * D
    return num_parameters + embed_tokens + lm_head


@practice("nanoGPT")
def nano(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    use = 1 if biases else 0
    out = {}
    out["ln"] = D + use * D
    out["attention/q"] = D * heads * D_H + use * heads * D_H
    out["attention/kv"] = 2 * (D * groups * D_H + use * groups * D_H)
    out["attention/proj"] = heads * D_H * D + use * D
    out["attention"] = out["ln"] + out["attention/q"] + out["attention/kv"] + out["attention/proj"]
    out["mlp/ffw"] = (D * D_F + use * D_F) * (2 if gated else 1)
    out["mlp/proj"] = D_F * D + use * D
    out["mlp"] = out["ln"] + out["mlp/ffw"] + out["mlp/proj"]
    out["encoder"] = encoder * (out["attention"] + out["mlp"])
    n_attn = 2 if encoder > 0 else 1
    out["decoder"] = decoder * (n_attn * out["attention"] + out["mlp"])
    out["ln_f"] = out["ln"] * int(encoder > 0) + out["ln"] * int(decoder > 0)
    out["embedding/token"] = V * D
    out["dense"] = torch.zeros_like(V) if tied else D * V
    return out["encoder"] + out["decoder"] + out["ln_f"] + out["embedding/token"] + out["dense"]


@practice("d2l")
def dive(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    def dense(num_inputs, num_outputs):
        return num_inputs * num_outputs + (num_outputs if biases else 0)

    addnorm = 2 * D if biases else D
    attention = dense(D, heads * D_H) + dense(D, groups * D_H) + dense(D, groups * D_H) + dense(heads * D_H, D)
    ffn = dense(D, D_F) + dense(D_F, D)
    if gated:
        ffn += dense(D, D_F)
    num_params = V * D
    for i in range(encoder):
        num_params = num_params + attention + addnorm + ffn + addnorm
        if i == encoder - 1:
            num_params = num_params + addnorm
    for i in range(decoder):
        num_params = num_params + attention + addnorm + ffn + addnorm
        if encoder:
            num_params = num_params + attention + addnorm
        if i == decoder - 1:
            num_params = num_params + addnorm
    if not tied:
        num_params = num_params + V * D
    return num_params


@practice("fairseq")
def fairseq(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    embed_dim, kdim, qdim = D, groups * D_H, heads * D_H
    weights, bias_terms, layer_norms = [], [], 0

    def multihead_attention():
        nonlocal layer_norms
        weights.extend([embed_dim * qdim, embed_dim * kdim, embed_dim * kdim, qdim * embed_dim])
        bias_terms.extend([qdim, kdim, kdim, embed_dim])
        layer_norms += 1

    def feed_forward():
        nonlocal layer_norms
        for _ in range(2 if gated else 1):
            weights.append(embed_dim * D_F)
            bias_terms.append(D_F)
        weights.append(D_F * embed_dim)
        bias_terms.append(embed_dim)
        layer_norms += 1

    for _ in range(encoder):
        multihead_attention()
        feed_forward()
    no_encoder_attn = encoder == 0
    for _ in range(decoder):
        multihead_attention()
        if not no_encoder_attn:
            multihead_attention()
        feed_forward()
    layer_norms += len([layers for layers in (encoder, decoder) if layers > 0])
    total = sum(weights) + layer_norms * embed_dim
    if biases:
        total += sum(bias_terms) + layer_norms * embed_dim
    share_all_embeddings = torch.stack([V, V]) if not tied else V[None]
    return (share_all_embeddings * embed_dim).sum(dim=0) + total


@practice("on the back of an envelope")
def envelope(encoder, decoder, V, D, D_F, heads, groups, D_H, gated, biases, tied):
    per_attention = 2 * D * D_H * (heads + groups)
    per_mlp = D * D_F * (3 if gated else 2)
    attentions = encoder + (2 * decoder if encoder else decoder)
    mlps = encoder + decoder
    norms = attentions + mlps + (encoder > 0) + (decoder > 0)
    extra = attentions * (D_H * (heads + 2 * groups) + D) + mlps * (per_mlp // D - D_F + D) + norms * D
    inside = attentions * per_attention + mlps * per_mlp + norms * D + (extra if biases else 0)
    return torch.tensor([inside + (1 if tied else 2) * v * D for v in V.tolist()], device=V.device)
