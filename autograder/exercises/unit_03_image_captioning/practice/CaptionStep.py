"""Right answers to `CaptionStep`, as others write them."""

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice


@practice("Show, Attend and Tell in PyTorch (sgrvinod)")
class SgrvinodStep(nn.Module):
    def __init__(self, V, D_E, D, D_S, D_A):
        super().__init__()
        self.U = nn.Linear(D, D_A, bias=False)  # linear layer to transform encoded image
        self.W = nn.Linear(D_S, D_A, bias=False)  # linear layer to transform decoder's output
        self.v = nn.Linear(D_A, 1, bias=False)  # linear layer to calculate values to be softmax-ed
        self.softmax = nn.Softmax(dim=1)
        self.embedding = nn.Embedding(V, D_E)
        self.cell = nn.GRUCell(D_E + D, D_S)
        self.gate = nn.Linear(D_S, 1)
        self.sigmoid = nn.Sigmoid()
        self.out = nn.Linear(D_S + D, V)

    def forward(self, y, s, X):
        att1 = self.U(X)
        att2 = self.W(s)
        att = self.v(torch.tanh(att1 + att2.unsqueeze(1))).squeeze(2)
        alpha = self.softmax(att)
        attention_weighted_encoding = (X * alpha.unsqueeze(2)).sum(dim=1)
        gate = self.sigmoid(self.gate(s))
        attention_weighted_encoding = gate * attention_weighted_encoding
        h = self.cell(torch.cat([self.embedding(y), attention_weighted_encoding], dim=1), s)
        preds = self.out(torch.cat([h, attention_weighted_encoding], dim=1))
        return preds, h, alpha


@practice("einops", needs="einops")
class EinopsStep(nn.Module):
    def __init__(self, V, D_E, D, D_S, D_A):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.W = nn.Linear(D_S, D_A, bias=False)
        self.U = nn.Linear(D, D_A, bias=False)
        self.v = nn.Linear(D_A, 1, bias=False)
        self.gate = nn.Linear(D_S, 1)
        self.cell = nn.GRUCell(D_E + D, D_S)
        self.out = nn.Linear(D_S + D, V)

    def forward(self, y, s, X):
        from einops import einsum, rearrange

        sim = self.v((rearrange(self.W(s), "b a -> b 1 a") + self.U(X)).tanh())
        attn = rearrange(sim, "b l 1 -> b l").softmax(dim=-1)
        context = einsum(attn, X, "b l, b l d -> b d")
        gated = self.gate(s).sigmoid() * context
        s = self.cell(torch.cat((self.embedding(y), gated), dim=-1), s)
        return self.out(torch.cat((s, gated), dim=-1)), s, attn


@practice("d2l: bmm, the axis of the query kept")
class D2LStep(nn.Module):
    def __init__(self, V, D_E, D, D_S, D_A):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.W = nn.Linear(D_S, D_A, bias=False)
        self.U = nn.Linear(D, D_A, bias=False)
        self.v = nn.Linear(D_A, 1, bias=False)
        self.gate = nn.Linear(D_S, 1)
        self.cell = nn.GRUCell(D_E + D, D_S)
        self.out = nn.Linear(D_S + D, V)

    def forward(self, y, s, X):
        query = torch.unsqueeze(s, dim=1)
        features = torch.tanh(self.W(query).unsqueeze(2) + self.U(X).unsqueeze(1))
        scores = self.v(features).squeeze(-1)
        attention_weights = nn.functional.softmax(scores, dim=-1)  # [B, 1, L]
        context = torch.bmm(attention_weights, X)
        z = torch.sigmoid(self.gate(query)) * context
        x = torch.cat((self.embedding(y)[:, None], z), dim=-1)
        s_new = self.cell(x.squeeze(1), s)
        logits = self.out(torch.cat((s_new, z.squeeze(1)), dim=-1))
        return logits, s_new, attention_weights.squeeze(1)


@practice("the authors' Theano code: ctx, alpha, sel; projections added in place")
class TheanoStep(nn.Module):
    def __init__(self, V, D_E, D, D_S, D_A):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.W, self.U = nn.Linear(D_S, D_A, bias=False), nn.Linear(D, D_A, bias=False)
        self.v = nn.Linear(D_A, 1, bias=False)
        self.gate = nn.Linear(D_S, 1)
        self.cell = nn.GRUCell(D_E + D, D_S)
        self.out = nn.Linear(D_S + D, V)

    def forward(self, y, s, X):
        pctx_ = self.U(X)
        pctx_ += self.W(s)[:, None, :]
        pctx_ = torch.tanh(pctx_)
        alpha = self.v(pctx_).reshape(X.shape[0], X.shape[1])
        alpha = torch.softmax(alpha, 1)
        ctx_ = (X * alpha[:, :, None]).sum(1)
        sel_ = torch.sigmoid(self.gate(s)).reshape(-1)
        ctx_ = sel_[:, None] * ctx_
        h = self.cell(torch.concatenate([self.embedding(y), ctx_], 1), s)
        return self.out(torch.concatenate([h, ctx_], 1)), h, alpha


@practice("Meta's Llama: softmax in float32")
class LlamaStep(nn.Module):
    def __init__(self, V, D_E, D, D_S, D_A):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.W = nn.Linear(D_S, D_A, bias=False)
        self.U = nn.Linear(D, D_A, bias=False)
        self.v = nn.Linear(D_A, 1, bias=False)
        self.gate = nn.Linear(D_S, 1)
        self.cell = nn.GRUCell(D_E + D, D_S)
        self.out = nn.Linear(D_S + D, V)

    def forward(self, y, s, X):
        bsz, n_cells, _ = X.shape
        xq, xk = self.W(s), self.U(X)
        scores = self.v(torch.tanh(xq.view(bsz, 1, -1) + xk)).view(bsz, n_cells)
        scores = F.softmax(scores.float(), dim=-1).type_as(xq)
        output = torch.matmul(scores.unsqueeze(1), X).squeeze(1)
        output = output * F.sigmoid(self.gate(s))
        h = self.cell(torch.cat([self.embedding(y), output], dim=-1), s)
        return self.out(torch.cat([h, output], dim=-1)), h, scores


@practice("ImageCaptioning.pytorch (ruotianluo): p_att_feats, dot, att_res")
class RuotianStep(nn.Module):
    def __init__(self, V, D_E, D, D_S, D_A):
        super().__init__()
        self.rnn_size, self.att_hid_size = D_S, D_A
        self.embedding = nn.Embedding(V, D_E)
        self.W = nn.Linear(self.rnn_size, self.att_hid_size, bias=False)
        self.U = nn.Linear(D, self.att_hid_size, bias=False)
        self.v = nn.Linear(self.att_hid_size, 1, bias=False)
        self.gate = nn.Linear(self.rnn_size, 1)
        self.cell = nn.GRUCell(D_E + D, self.rnn_size)
        self.out = nn.Linear(self.rnn_size + D, V)

    def forward(self, y, s, X):
        att_size = X.numel() // X.size(0) // X.size(-1)
        p_att_feats = self.U(X)
        att_h = self.W(s)
        att_h = att_h.unsqueeze(1).expand_as(p_att_feats)
        dot = torch.tanh(p_att_feats + att_h)
        dot = dot.view(-1, self.att_hid_size)
        dot = self.v(dot).view(-1, att_size)
        weight = F.softmax(dot, dim=1)
        att_res = torch.bmm(weight.unsqueeze(1), X.reshape(-1, att_size, X.size(-1))).squeeze(1)
        att_res = torch.sigmoid(self.gate(s)).expand_as(att_res) * att_res
        h = self.cell(torch.cat([self.embedding(y), att_res], 1), s)
        return self.out(torch.cat([h, att_res], 1)), h, weight
