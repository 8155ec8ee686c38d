"""Right answers to `QueryDecoder`, as others write them."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.bank.practice import practice


def _get_clones(module, N):
    return nn.ModuleList([copy.deepcopy(module) for i in range(N)])


@practice("facebookresearch/detr")
class Detr(nn.Module):
    def __init__(self, D, H, N_Q, C, num_layers):
        super().__init__()
        self.queries = nn.Parameter(nn.Embedding(N_Q, D).weight.detach().clone())
        self.own = _get_clones(nn.MultiheadAttention(D, H, dropout=0.0, batch_first=True), num_layers)
        self.cross = _get_clones(nn.MultiheadAttention(D, H, dropout=0.0, batch_first=True), num_layers)
        self.mlp = _get_clones(nn.Sequential(nn.Linear(D, 4 * D), nn.ReLU(), nn.Linear(4 * D, D)), num_layers)
        self.norm_own = _get_clones(nn.LayerNorm(D), num_layers)
        self.norm_cross = _get_clones(nn.LayerNorm(D), num_layers)
        self.norm_mlp = _get_clones(nn.LayerNorm(D), num_layers)
        self.norm = nn.LayerNorm(D)
        self.to_classes = nn.Linear(D, C + 1)
        self.to_boxes = nn.Linear(D, 4)
        self.num_layers = num_layers

    def with_pos_embed(self, tensor, pos):
        return tensor if pos is None else tensor + pos

    def forward_pre(self, i, tgt, memory, pos, query_pos):
        tgt2 = self.norm_own[i](tgt)
        q = k = self.with_pos_embed(tgt2, query_pos)
        tgt2 = self.own[i](q, k, value=tgt2)[0]
        tgt = tgt + tgt2
        tgt2 = self.norm_cross[i](tgt)
        tgt2 = self.cross[i](
            query=self.with_pos_embed(tgt2, query_pos), key=self.with_pos_embed(memory, pos), value=memory
        )[0]
        tgt = tgt + tgt2
        tgt2 = self.mlp[i](self.norm_mlp[i](tgt))
        return tgt + tgt2

    def forward(self, memory, position):
        query_embed = self.queries.unsqueeze(0).repeat(memory.shape[0], 1, 1)
        tgt = torch.zeros_like(query_embed)
        intermediate = []
        for i in range(self.num_layers):
            tgt = self.forward_pre(i, tgt, memory, position, query_embed)
            intermediate.append(self.norm(tgt))
        hs = torch.stack(intermediate)
        outputs_class = self.to_classes(hs)
        outputs_coord = self.to_boxes(hs).sigmoid()
        return outputs_class, outputs_coord


@practice("transformers")
class HuggingFace(nn.Module):
    def __init__(self, D, H, N_Q, C, num_layers):
        super().__init__()
        self.d_model, self.num_heads, self.head_dim = D, H, D // H
        self.scaling = self.head_dim**-0.5
        self.queries = nn.Parameter(torch.zeros(N_Q, D))
        for name in ("norm_own", "norm_cross", "norm_mlp"):
            setattr(self, name, nn.ModuleList([nn.LayerNorm(D) for _ in range(num_layers)]))
        for name in ("own", "cross"):
            layers = [nn.MultiheadAttention(D, H, batch_first=True) for _ in range(num_layers)]
            setattr(self, name, nn.ModuleList(layers))
        self.mlp = nn.ModuleList(
            [nn.Sequential(nn.Linear(D, D * 4), nn.ReLU(inplace=True), nn.Linear(D * 4, D)) for _ in range(num_layers)]
        )
        self.norm = nn.LayerNorm(D)
        self.to_classes = nn.Linear(D, C + 1)
        self.to_boxes = nn.Linear(D, 4)

    def attention(self, module, hidden_states, key_states, value_states):
        w, b = module.in_proj_weight, module.in_proj_bias
        d, bsz, tgt_len = self.d_model, hidden_states.shape[0], hidden_states.shape[1]

        def _shape(tensor, seq_len):
            return tensor.view(bsz, seq_len, self.num_heads, self.head_dim).transpose(1, 2).contiguous()

        query_states = _shape(F.linear(hidden_states, w[:d], b[:d]) * self.scaling, tgt_len)
        src_len = key_states.shape[1]
        key_states = _shape(F.linear(key_states, w[d : 2 * d], b[d : 2 * d]), src_len)
        value_states = _shape(F.linear(value_states, w[2 * d :], b[2 * d :]), src_len)
        attn_weights = nn.functional.softmax(torch.matmul(query_states, key_states.transpose(2, 3)), dim=-1)
        attn_output = torch.matmul(attn_weights, value_states).transpose(1, 2).reshape(bsz, tgt_len, d)
        return module.out_proj(attn_output)

    def forward(self, memory, position):
        query_position_embeddings = self.queries.expand(memory.shape[0], -1, -1)
        hidden_states = torch.zeros_like(query_position_embeddings)
        intermediate = ()
        for idx in range(len(self.own)):
            residual = hidden_states
            hidden_states = self.norm_own[idx](hidden_states)
            position_states = hidden_states + query_position_embeddings
            hidden_states = self.attention(self.own[idx], position_states, position_states, hidden_states)
            hidden_states = residual + hidden_states
            residual = hidden_states
            hidden_states = self.norm_cross[idx](hidden_states) + query_position_embeddings
            hidden_states = self.attention(self.cross[idx], hidden_states, memory + position, memory)
            hidden_states = residual + hidden_states
            residual = hidden_states
            hidden_states = residual + self.mlp[idx](self.norm_mlp[idx](hidden_states))
            intermediate += (self.norm(hidden_states),)
        logits = torch.stack([self.to_classes(state) for state in intermediate])
        pred_boxes = torch.stack([self.to_boxes(state).sigmoid() for state in intermediate])
        return logits, pred_boxes


class Residual(nn.Module):
    def forward(self, x, fn):
        return x + fn(x)


@practice("lucidrains")
class Lucid(nn.Module):
    def __init__(self, D, H, N_Q, C, num_layers):
        super().__init__()
        self.queries = nn.Parameter(torch.randn(N_Q, D) * 0.02)
        names = ("norm_own", "own", "norm_cross", "cross", "norm_mlp", "mlp")
        for name in names:
            self.add_module(name, nn.ModuleList([]))
        for _ in range(num_layers):
            self.norm_own.append(nn.LayerNorm(D))
            self.own.append(nn.MultiheadAttention(D, H, batch_first=True))
            self.norm_cross.append(nn.LayerNorm(D))
            self.cross.append(nn.MultiheadAttention(D, H, batch_first=True))
            self.norm_mlp.append(nn.LayerNorm(D))
            self.mlp.append(nn.Sequential(nn.Linear(D, D * 4), nn.ReLU(), nn.Linear(D * 4, D)))
        self.layers = [dict(zip(names, each)) for each in zip(*(getattr(self, name) for name in names))]
        self.norm = nn.LayerNorm(D)
        self.to_classes = nn.Linear(D, C + 1)
        self.to_boxes = nn.Linear(D, 4)
        self.residual = Residual()

    def forward(self, memory, position):
        b, q = memory.shape[0], self.queries
        x = torch.zeros((b, *q.shape), device=memory.device, dtype=memory.dtype)
        logits, boxes = [], []
        for at in self.layers:

            def attend(x, at=at):
                x = at["norm_own"](x)
                return at["own"](x + q, x + q, x)[0]

            def look(x, at=at):
                return at["cross"](at["norm_cross"](x) + q, memory + position, memory, need_weights=False)[0]

            x = self.residual(x, attend)
            x = self.residual(x, look)
            x = self.residual(x, lambda x, at=at: at["mlp"](at["norm_mlp"](x)))
            logits.append(self.to_classes(self.norm(x)))
            boxes.append(torch.sigmoid(self.to_boxes(self.norm(x))))
        return torch.stack(logits), torch.stack(boxes)


@practice("nanoGPT")
class Nano(nn.Module):
    def __init__(self, D, H, N_Q, C, num_layers):
        super().__init__()
        assert D % H == 0
        self.n_head, self.n_embd, self.n_layer = H, D, num_layers
        self.queries = nn.Parameter(torch.empty(N_Q, D))
        torch.nn.init.normal_(self.queries, mean=0.0, std=0.02)
        self.norm_own, self.norm_cross, self.norm_mlp = (
            nn.ModuleList([nn.LayerNorm(D) for _ in range(num_layers)]) for _ in range(3)
        )
        self.own = nn.ModuleList([nn.MultiheadAttention(D, H, batch_first=True) for _ in range(num_layers)])
        self.cross = nn.ModuleList([nn.MultiheadAttention(D, H, batch_first=True) for _ in range(num_layers)])
        self.mlp = nn.ModuleList(
            [nn.Sequential(nn.Linear(D, 4 * D), nn.ReLU(), nn.Linear(4 * D, D)) for _ in range(num_layers)]
        )
        self.norm, self.to_classes, self.to_boxes = nn.LayerNorm(D), nn.Linear(D, C + 1), nn.Linear(D, 4)

    def attn(self, layer, q, k, v):
        B, T, C = q.size()
        wq, wk, wv = layer.in_proj_weight.split(self.n_embd, dim=0)
        bq, bk, bv = layer.in_proj_bias.split(self.n_embd, dim=0)
        q, k, v = F.linear(q, wq, bq), F.linear(k, wk, bk), F.linear(v, wv, bv)
        q, k, v = (x.view(B, x.size(1), self.n_head, C // self.n_head).transpose(1, 2) for x in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        y = F.softmax(att, dim=-1) @ v  # (B, nh, T, S) x (B, nh, S, hs) -> (B, nh, T, hs)
        return layer.out_proj(y.transpose(1, 2).contiguous().view(B, T, C))

    def forward(self, memory, position):
        qpos = self.queries[None]
        x = torch.zeros(memory.size(0), *self.queries.size(), device=memory.device, dtype=memory.dtype)
        xs = []
        for i in range(self.n_layer):
            z = self.norm_own[i](x)
            x = x + self.attn(self.own[i], z + qpos, z + qpos, z)
            x = x + self.attn(self.cross[i], self.norm_cross[i](x) + qpos, memory + position, memory)
            x = x + self.mlp[i](self.norm_mlp[i](x))
            xs.append(x)
        x = self.norm(torch.stack(xs, dim=0))
        return self.to_classes(x), self.to_boxes(x).sigmoid()
