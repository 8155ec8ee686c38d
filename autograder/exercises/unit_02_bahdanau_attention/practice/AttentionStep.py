"""Right answers to `AttentionStep`, as others write them."""

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("PyTorch's seq2seq tutorial: BahdanauAttention")
class TutorialStep(nn.Module):
    def __init__(self, V, D_E, D_H, D_S, D_A):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.W = nn.Linear(D_S, D_A, bias=False)
        self.U = nn.Linear(D_H, D_A, bias=False)
        self.v = nn.Linear(D_A, 1, bias=False)
        self.cell = nn.GRUCell(D_E + D_H, D_S)
        self.out = nn.Linear(D_S + D_H, V)

    def forward(self, y, s, H, mask):
        query = s.unsqueeze(1)
        scores = self.v(torch.tanh(self.W(query) + self.U(H)))
        scores = scores.squeeze(2).unsqueeze(1)
        scores = scores.masked_fill(~mask.unsqueeze(1), -float("inf"))
        weights = F.softmax(scores, dim=-1)
        context = torch.bmm(weights, H).squeeze(1)
        embedded = self.embedding(y)
        hidden = self.cell(torch.cat((embedded, context), dim=1), s)
        output = self.out(torch.cat((hidden, context), dim=1))
        return output, hidden, weights.squeeze(1)


class AdditiveAttention(nn.Module):
    """d2l's attention, on layers that it is handed."""

    def forward(self, W_q, W_k, w_v, queries, keys, valid):
        features = torch.tanh(W_q(queries).unsqueeze(2) + W_k(keys).unsqueeze(1))
        scores = w_v(features).squeeze(-1)
        self.attention_weights = nn.functional.softmax(scores.masked_fill(valid[:, None] == 0, -torch.inf), dim=-1)
        return torch.bmm(self.attention_weights, keys)


@practice("d2l: AdditiveAttention on a sequence of one query")
class D2LStep(nn.Module):
    def __init__(self, V, D_E, D_H, D_S, D_A):
        super().__init__()
        self.attention = AdditiveAttention()
        self.W = nn.Linear(D_S, D_A, bias=False)
        self.U = nn.Linear(D_H, D_A, bias=False)
        self.v = nn.Linear(D_A, 1, bias=False)
        self.embedding = nn.Embedding(V, D_E)
        self.cell = nn.GRUCell(D_E + D_H, D_S)
        self.out = nn.Linear(D_S + D_H, V)

    def forward(self, y, s, H, mask):
        context = self.attention(self.W, self.U, self.v, torch.unsqueeze(s, dim=1), H, mask)
        x = torch.cat((context, torch.unsqueeze(self.embedding(y), dim=1)), dim=-1)
        x = torch.cat((x[..., H.shape[-1] :], x[..., : H.shape[-1]]), dim=-1)  # the embedding first
        s_new = self.cell(x[:, 0], s)
        logits = self.out(torch.cat((s_new, context[:, 0]), dim=-1))
        return logits, s_new, self.attention.attention_weights[:, 0]


@practice("einops", needs="einops")
class EinopsStep(nn.Module):
    def __init__(self, V, D_E, D_H, D_S, D_A):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.W, self.U, self.v = (
            nn.Linear(dim_in, dim_out, bias=False) for dim_in, dim_out in ((D_S, D_A), (D_H, D_A), (D_A, 1))
        )
        self.cell = nn.GRUCell(D_E + D_H, D_S)
        self.out = nn.Linear(D_S + D_H, V)

    def forward(self, y, s, H, mask):
        from einops import einsum, rearrange

        hiddens = rearrange(self.W(s), "b a -> b 1 a") + self.U(H)
        sim = rearrange(self.v(hiddens.tanh()), "b j 1 -> b j")
        sim = sim.masked_fill(~mask, -torch.inf)
        attn = sim.softmax(dim=-1)
        c = einsum(attn, H, "b j, b j d -> b d")
        s = self.cell(torch.cat((self.embedding(y), c), dim=-1), s)
        return self.out(torch.cat((s, c), dim=-1)), s, attn


@practice("fairseq: source length first, softmax in float32")
class FairseqStep(nn.Module):
    def __init__(self, V, D_E, D_H, D_S, D_A):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.W = nn.Linear(D_S, D_A, bias=False)
        self.U = nn.Linear(D_H, D_A, bias=False)
        self.v = nn.Linear(D_A, 1, bias=False)
        self.cell = nn.GRUCell(D_E + D_H, D_S)
        self.out = nn.Linear(D_S + D_H, V)

    def forward(self, y, s, H, mask):
        source_hids = H.transpose(0, 1)  # srclen x bsz x dim
        encoder_padding_mask = ~mask.t()
        x = self.W(s).unsqueeze(0) + self.U(source_hids)
        attn_scores = self.v(torch.tanh(x)).squeeze(-1)
        attn_scores = attn_scores.float().masked_fill_(encoder_padding_mask, float("-inf")).type_as(attn_scores)
        attn_scores = F.softmax(attn_scores, dim=0)  # srclen x bsz
        ctx = (attn_scores.unsqueeze(2) * source_hids).sum(dim=0)
        hidden = self.cell(torch.cat((self.embedding(y), ctx), dim=1), s)
        x = self.out(torch.cat((hidden, ctx), dim=1))
        return x, hidden, attn_scores.t()


@practice("numpy-minded: weight matrices instead of layer calls, an additive mask")
class MatrixStep(nn.Module):
    def __init__(self, V, D_E, D_H, D_S, D_A):
        super().__init__()
        linear = nn.Linear
        self.embedding = nn.Embedding(V, D_E)
        self.W = linear(D_S, D_A, bias=False)
        self.U = linear(D_H, D_A, bias=False)
        self.v = linear(D_A, 1, bias=False)
        self.cell = nn.GRUCell(D_E + D_H, D_S)
        self.out = linear(D_S + D_H, V)

    def forward(self, y, s, H, mask):
        hidden = torch.tanh((s @ self.W.weight.T)[:, None, :] + H @ self.U.weight.T)
        e = hidden @ self.v.weight[0]
        e = e + torch.zeros_like(e).masked_fill(~mask, -torch.inf)
        a = torch.softmax(e, -1)
        c = torch.einsum("bi,bid->bd", a, H)
        s_new = self.cell(torch.hstack([self.embedding.weight[y], c]), s)
        return self.out(torch.hstack([s_new, c])), s_new, a


@practice("ESPnet's AttAdd: masked_fill before the softmax, zeros again behind it")
class ESPnetStep(nn.Module):
    def __init__(self, V, D_E, D_H, D_S, D_A):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.W = nn.Linear(D_S, D_A, bias=False)
        self.U = nn.Linear(D_H, D_A, bias=False)
        self.v = nn.Linear(D_A, 1, bias=False)
        self.cell = nn.GRUCell(D_E + D_H, D_S)
        self.out = nn.Linear(D_S + D_H, V)
        self.dunits, self.att_dim = D_S, D_A

    def forward(self, y, s, H, mask):
        batch = len(H)
        pre_compute_enc_h = self.U(H)
        dec_z_tiled = self.W(s.reshape(batch, self.dunits)).view(batch, 1, self.att_dim)
        e = self.v(torch.tanh(pre_compute_enc_h + dec_z_tiled)).squeeze(2)
        e = e.masked_fill(mask.logical_not(), -float("inf"))
        w = F.softmax(e, dim=1).masked_fill(mask.logical_not(), 0.0)
        c = torch.sum(H * w.view(batch, -1, 1), dim=1)
        z = self.cell(torch.cat((self.embedding(y), c), dim=1), s)
        return self.out(torch.cat((z, c), dim=-1)), z, w
