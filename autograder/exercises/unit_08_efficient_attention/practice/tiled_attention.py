"""Right answers to `tiled_attention`, as others write them."""

import math

import torch

from autograder.bank.practice import practice


@practice("lesson style: a loop over blocks")
def plain(Q, K, V, block):
    B, N_Q, D_Q = Q.shape
    m = Q.new_full((B, N_Q), -torch.inf)
    l = Q.new_zeros(B, N_Q)
    O = Q.new_zeros(B, N_Q, V.shape[-1])
    for K_block, V_block in zip(K.split(block, dim=1), V.split(block, dim=1)):
        E = Q @ K_block.mT / math.sqrt(D_Q)
        m_new = torch.maximum(m, E.amax(dim=-1))
        f = torch.exp(m - m_new)
        P = torch.exp(E - m_new[..., None])
        m, l, O = m_new, f * l + P.sum(dim=-1), f[..., None] * O + P @ V_block
    return O / l[..., None]


@practice("FlashAttention 2: tiles of queries and of keys, single precision inside")
def flash(Q, K, V, block):
    softmax_scale = Q.shape[-1] ** -0.5
    out = torch.empty(*Q.shape[:2], V.shape[-1], dtype=Q.dtype, device=Q.device)
    for start_m in range(0, Q.shape[1], block):
        q = Q[:, start_m : start_m + block].float() * softmax_scale
        m_i = torch.full(q.shape[:2], float("-inf"), dtype=torch.float32, device=Q.device)
        l_i = torch.zeros_like(m_i)
        acc = torch.zeros(*q.shape[:2], V.shape[-1], dtype=torch.float32, device=Q.device)
        for start_n in range(0, K.shape[1], block):
            k = K[:, start_n : start_n + block].float()
            v = V[:, start_n : start_n + block].float()
            qk = torch.matmul(q, k.transpose(1, 2))
            m_ij = torch.maximum(m_i, torch.max(qk, 2).values)
            p = torch.exp(qk - m_ij[:, :, None])
            alpha = torch.exp(m_i - m_ij)
            l_i = l_i * alpha + torch.sum(p, 2)
            acc = acc * alpha[:, :, None] + torch.matmul(p, v)
            m_i = m_ij
        out[:, start_m : start_m + block] = (acc / l_i[:, :, None]).to(Q.dtype)
    return out


@practice("einops, in the manner of memory-efficient-attention-pytorch", needs="einops")
def lucidrains(Q, K, V, block):
    from einops import einsum

    scale = Q.shape[-1] ** -0.5
    q = Q * scale
    max_neg_value = -torch.finfo(q.dtype).max
    row_maxes = torch.full((*q.shape[:-1], 1), max_neg_value, dtype=q.dtype, device=q.device)
    row_sums = torch.zeros_like(row_maxes)
    out = torch.zeros((*q.shape[:-1], V.shape[-1]), dtype=q.dtype, device=q.device)
    for kc, vc in zip(K.split(block, dim=-2), V.split(block, dim=-2)):
        attn_weights = einsum(q, kc, "b i d, b j d -> b i j")
        new_row_maxes = torch.maximum(attn_weights.amax(dim=-1, keepdim=True).detach(), row_maxes)
        exp_weights = (attn_weights - new_row_maxes).exp()
        rescale = (row_maxes - new_row_maxes).exp()
        row_sums = rescale * row_sums + exp_weights.sum(dim=-1, keepdim=True)
        out = rescale * out + einsum(exp_weights, vc, "b i j, b j d -> b i d")
        row_maxes = new_row_maxes
    return out / row_sums


@practice("Rabe and Staats: each chunk checkpointed")
def rabe(Q, K, V, block):
    from torch.utils.checkpoint import checkpoint

    query = Q / math.sqrt(Q.shape[-1])

    def summarize_chunk(carry, key, value):
        max_score, weights_sum, values = carry
        attn_weights = torch.einsum("bqd,bkd->bqk", query, key)
        chunk_max = torch.maximum(max_score, attn_weights.detach().max(dim=-1)[0])
        exp_weights = torch.exp(attn_weights - chunk_max.unsqueeze(-1))
        diff = torch.exp(max_score - chunk_max)
        exp_values = torch.einsum("bkv,bqk->bqv", value, exp_weights)
        return chunk_max, diff * weights_sum + exp_weights.sum(dim=-1), diff.unsqueeze(-1) * values + exp_values

    num_q = query.shape[:2]
    carry = (
        torch.full(num_q, float("-inf"), dtype=Q.dtype, device=Q.device),
        torch.zeros(num_q, dtype=Q.dtype, device=Q.device),
        torch.zeros(*num_q, V.shape[-1], dtype=Q.dtype, device=Q.device),
    )
    for chunk_idx in range(0, K.shape[1], block):
        chunk = slice(chunk_idx, chunk_idx + block)
        carry = checkpoint(summarize_chunk, carry, K[:, chunk], V[:, chunk], use_reentrant=False)
    _, all_weights, all_values = carry
    return all_values / all_weights.unsqueeze(-1)


@practice("normalised outputs merged by their logsumexp, as in ring attention")
def ring(Q, K, V, block):
    out = lse = None
    for start in range(0, K.size(1), block):
        k, v = K.narrow(1, start, min(block, K.size(1) - start)), V[:, start : start + block]
        scores = torch.bmm(Q, k.transpose(1, 2)) / Q.size(-1) ** 0.5
        block_lse = torch.logsumexp(scores, dim=-1, keepdim=True)
        block_out = torch.softmax(scores, dim=-1) @ v
        if out is None:
            out, lse = block_out, block_lse
        else:
            out = torch.sigmoid(lse - block_lse) * out + torch.sigmoid(block_lse - lse) * block_out
            lse = torch.logaddexp(lse, block_lse)
    return out


class _FlashFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, bucket):
        scale = q.shape[-1] ** -0.5
        o = q.new_zeros(*q.shape[:2], v.shape[-1])
        all_row_sums = q.new_zeros(*q.shape[:2], 1)
        all_row_maxes = q.new_full((*q.shape[:2], 1), -torch.inf)
        for kc, vc in zip(k.split(bucket, dim=1), v.split(bucket, dim=1)):
            s = q @ kc.mT * scale
            new_maxes = torch.maximum(s.amax(dim=-1, keepdim=True), all_row_maxes)
            p = torch.exp(s - new_maxes)
            alpha = torch.exp(all_row_maxes - new_maxes)
            all_row_sums.mul_(alpha).add_(p.sum(dim=-1, keepdim=True))
            o.mul_(alpha).add_(p @ vc)
            all_row_maxes = new_maxes
        o.div_(all_row_sums)
        ctx.bucket, ctx.scale = bucket, scale
        ctx.save_for_backward(q, k, v, o, all_row_maxes, all_row_sums)
        return o

    @staticmethod
    def backward(ctx, do):
        q, k, v, o, maxes, sums = ctx.saved_tensors
        dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        delta = (do * o).sum(dim=-1, keepdim=True)
        for start in range(0, k.shape[1], ctx.bucket):
            c = slice(start, start + ctx.bucket)
            p = torch.exp(q @ k[:, c].mT * ctx.scale - maxes) / sums
            dv[:, c] = p.mT @ do
            ds = p * (do @ v[:, c].mT - delta) * ctx.scale
            dq += ds @ k[:, c]
            dk[:, c] = ds.mT @ q
        return dq, dk, dv, None


@practice("flash-attention-pytorch: a function with a backward of its own")
def function(Q, K, V, block):
    return _FlashFunction.apply(Q, K, V, block)
