"""Right answers to `axial_attention`, as others write them."""

import math

import torch
import torch.nn.functional as F

from autograder.bank.practice import practice


def INF(B, H, W, like):
    return (
        -torch.diag(torch.tensor(float("inf"), device=like.device).repeat(H), 0)
        .to(like)
        .unsqueeze(0)
        .repeat(B * W, 1, 1)
    )


@practice("CCNet")
def criss_cross(Q, K, V):
    m_batchsize, height, width, dim = Q.size()
    proj_query, proj_key, proj_value = (x.permute(0, 3, 1, 2) for x in (Q / math.sqrt(dim), K, V))
    proj_query_H = proj_query.permute(0, 3, 1, 2).contiguous().view(m_batchsize * width, -1, height).permute(0, 2, 1)
    proj_query_W = proj_query.permute(0, 2, 1, 3).contiguous().view(m_batchsize * height, -1, width).permute(0, 2, 1)
    proj_key_H = proj_key.permute(0, 3, 1, 2).contiguous().view(m_batchsize * width, -1, height)
    proj_key_W = proj_key.permute(0, 2, 1, 3).contiguous().view(m_batchsize * height, -1, width)
    proj_value_H = proj_value.permute(0, 3, 1, 2).contiguous().view(m_batchsize * width, -1, height)
    proj_value_W = proj_value.permute(0, 2, 1, 3).contiguous().view(m_batchsize * height, -1, width)
    energy_H = (torch.bmm(proj_query_H, proj_key_H) + INF(m_batchsize, height, width, Q)).view(
        m_batchsize, width, height, height
    )
    energy_H = energy_H.permute(0, 2, 1, 3)
    energy_W = torch.bmm(proj_query_W, proj_key_W).view(m_batchsize, height, width, width)
    concate = torch.softmax(torch.cat([energy_H, energy_W], 3), dim=3)
    att_H = concate[:, :, :, 0:height].permute(0, 2, 1, 3).contiguous().view(m_batchsize * width, height, height)
    att_W = concate[:, :, :, height : height + width].contiguous().view(m_batchsize * height, width, width)
    out_H = torch.bmm(proj_value_H, att_H.permute(0, 2, 1)).view(m_batchsize, width, -1, height).permute(0, 2, 3, 1)
    out_W = torch.bmm(proj_value_W, att_W.permute(0, 2, 1)).view(m_batchsize, height, -1, width).permute(0, 2, 1, 3)
    return (out_H + out_W).permute(0, 2, 3, 1)


@practice("transformers")
def hugging_face(Q, K, V):
    batch_size, height, width, dim = Q.shape
    ids = torch.arange(height * width, device=Q.device)
    row_ids = torch.div(ids, width, rounding_mode="floor")
    column_ids = ids.remainder(width)
    visible = row_ids[:, None].eq(row_ids[None]).logical_or(column_ids[:, None].eq(column_ids[None]))
    attention_mask = torch.zeros(visible.shape, dtype=Q.dtype, device=Q.device)
    attention_mask = attention_mask.masked_fill(~visible, torch.finfo(Q.dtype).min)
    query, key, value = (x.reshape(batch_size, height * width, dim) for x in (Q, K, V))
    attn_weights = torch.matmul(query, key.transpose(1, 2)) * dim**-0.5
    attn_weights = attn_weights + attention_mask
    attn_weights = F.softmax(attn_weights, dim=-1, dtype=torch.promote_types(torch.float32, Q.dtype)).to(query.dtype)
    return torch.matmul(attn_weights, value).view(batch_size, height, width, dim)


@practice("lucidrains", needs="einops")
def lucid(Q, K, V):
    from einops import rearrange

    h, w, d = Q.shape[1:]
    q = Q * d**-0.5
    rows = torch.einsum("b i j d, b i k d -> b i j k", q, K)
    columns = torch.einsum("b i j d, b k j d -> b i j k", q, K)
    itself = rearrange(torch.eye(h, device=Q.device, dtype=torch.bool), "i k -> i 1 k")
    columns = columns.masked_fill(itself, -torch.finfo(columns.dtype).max)
    attn = torch.cat((rows, columns), dim=-1).softmax(dim=-1)
    attn_rows, attn_columns = attn[..., :w], attn[..., w:]
    out = torch.einsum("b i j k, b i k d -> b i j d", attn_rows, V)
    return out + torch.einsum("b i j k, b k j d -> b i j d", attn_columns, V)


@practice("nanoGPT")
def nano(Q, K, V):
    B, R, C, D = Q.size()
    q, k, v = (x.reshape(B, R * C, D) for x in (Q, K, V))
    i = torch.arange(R * C, device=Q.device)
    mask = (i[:, None] // C == i // C) | (i[:, None] % C == i % C)
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    att = att.masked_fill(mask == 0, float("-inf"))
    att = F.softmax(att, dim=-1)
    return (att @ v).view(B, R, C, D)


@practice("d2l")
def d2l(queries, keys, values):
    d, (h, w) = queries.shape[-1], queries.shape[1:3]
    row = torch.matmul(queries, keys.transpose(2, 3)) / math.sqrt(d)
    q, k, v = queries.transpose(1, 2), keys.transpose(1, 2), values.transpose(1, 2)
    column = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(d)
    column = column.masked_fill(torch.eye(h, dtype=torch.bool, device=q.device), float("-inf")).transpose(1, 2)
    weights = F.softmax(torch.cat((row, column), dim=-1), dim=-1)
    in_row, in_column = weights[..., :w], weights[..., w:]
    return torch.matmul(in_row, values) + torch.matmul(in_column.transpose(1, 2), v).transpose(1, 2)


@practice("plain loops")
def loops(Q, K, V):
    B, rows, columns, D = Q.shape
    result = []
    for r in range(rows):
        for c in range(columns):
            cells = [(r, t) for t in range(columns)] + [(s, c) for s in range(rows) if s != r]
            s, t = zip(*cells)
            scores = (K[:, s, t] * Q[:, r, c].unsqueeze(1)).sum(dim=-1) / math.sqrt(D)
            result.append((torch.softmax(scores, dim=1).unsqueeze(-1) * V[:, s, t]).sum(dim=1))
    return torch.stack(result, dim=1).view(B, rows, columns, D)
