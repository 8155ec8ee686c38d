"""Right answers to `unpack_weights`, as others write them."""

import torch

from autograder.bank.practice import practice


@practice("nanoGPT: views")
def nanogpt(in_proj_weight, in_proj_bias, out_proj_weight, H):
    C = in_proj_weight.size(1)
    hs = C // H
    w_q, w_k, w_v = in_proj_weight.split(C, dim=0)
    b_q, b_k, b_v = in_proj_bias.split(C, dim=0)
    w_q, w_k, w_v = (w.view(H, hs, C).transpose(1, 2) for w in (w_q, w_k, w_v))
    b_q, b_k, b_v = (b.view(H, hs) for b in (b_q, b_k, b_v))
    w_o = out_proj_weight.t().view(H, hs, C)
    return w_q, w_k, w_v, w_o, b_q, b_k, b_v


@practice("TransformerLens's weight conversion", needs="einops")
def lens(in_proj_weight, in_proj_bias, out_proj_weight, H):
    import einops

    W_Q, W_K, W_V = torch.tensor_split(in_proj_weight, 3, dim=0)
    W_Q = einops.rearrange(W_Q, "(i h) m -> i m h", i=H)
    W_K = einops.rearrange(W_K, "(i h) m -> i m h", i=H)
    W_V = einops.rearrange(W_V, "(i h) m -> i m h", i=H)
    qkv_bias = einops.rearrange(in_proj_bias, "(qkv index head) -> qkv index head", qkv=3, index=H)
    W_O = einops.rearrange(out_proj_weight, "m (i h) -> i h m", i=H)
    return W_Q, W_K, W_V, W_O, qkv_bias[0], qkv_bias[1], qkv_bias[2]


@practice("timm: one reshape and a permute")
def timm(in_proj_weight, in_proj_bias, out_proj_weight, H):
    dim = out_proj_weight.shape[0]
    head_dim = dim // H
    q, k, v = in_proj_weight.reshape(3, H, head_dim, dim).permute(0, 1, 3, 2).unbind(0)
    bq, bk, bv = in_proj_bias.reshape(3, H, head_dim).unbind(0)
    proj = out_proj_weight.reshape(dim, H, head_dim).permute(1, 2, 0)
    return q, k, v, proj, bq, bk, bv


@practice("Hugging Face transformers: a conversion script")
def hf(in_proj_weight, in_proj_bias, out_proj_weight, H):
    hidden_size = in_proj_weight.shape[-1]
    attention_head_size = hidden_size // H
    state_dict = {
        "query.weight": in_proj_weight[:hidden_size, :],
        "query.bias": in_proj_bias[:hidden_size],
        "key.weight": in_proj_weight[hidden_size : hidden_size * 2, :],
        "key.bias": in_proj_bias[hidden_size : hidden_size * 2],
        "value.weight": in_proj_weight[-hidden_size:, :],
        "value.bias": in_proj_bias[-hidden_size:],
    }
    new_weights = [
        state_dict[f"{name}.weight"].T.reshape(hidden_size, H, attention_head_size).transpose(0, 1).contiguous()
        for name in ("query", "key", "value")
    ]
    new_biases = [state_dict[f"{name}.bias"].reshape(H, attention_head_size) for name in ("query", "key", "value")]
    dense = out_proj_weight.transpose(0, 1).contiguous().view(H, attention_head_size, hidden_size)
    return (*new_weights, dense, *new_biases)


@practice("plain loops")
def loops(in_proj_weight, in_proj_bias, out_proj_weight, H):
    D = out_proj_weight.shape[0]
    D_H = D // H
    W, b = [[], [], []], [[], [], []]
    for part in range(3):
        for h in range(H):
            start = part * D + h * D_H
            W[part].append(in_proj_weight[start : start + D_H].T)
            b[part].append(in_proj_bias[start : start + D_H])
    W_O = [out_proj_weight[:, h * D_H : (h + 1) * D_H].T for h in range(H)]
    return tuple(torch.stack(heads) for heads in [*W, W_O, *b])
