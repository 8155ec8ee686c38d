"""Right answers to `Decoder`, as others write them."""

from itertools import accumulate

import torch
from torch import nn
from torch.nn import functional as F

from autograder.bank.practice import practice

SOS_token = 1  # [START]


@practice("PyTorch's seq2seq tutorial: a decoder input that is replaced at each step")
class TutorialDecoder(nn.Module):
    def __init__(self, V, D_E, D_H):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.cell = nn.GRUCell(D_E + D_H, D_H)
        self.out = nn.Linear(D_H, V)

    def forward(self, y, c):
        batch_size, max_length = y.shape
        decoder_input = torch.full((batch_size,), SOS_token, dtype=torch.long, device=y.device)
        decoder_hidden = c
        decoder_outputs = []
        for i in range(max_length):
            embedded = self.embedding(decoder_input)
            decoder_hidden = self.cell(torch.cat((embedded, c), dim=1), decoder_hidden)
            decoder_outputs.append(self.out(decoder_hidden))
            decoder_input = y[:, i]  # teacher forcing
        return torch.stack(decoder_outputs, dim=1)


@practice("Hugging Face: shift_tokens_right")
class ShiftedDecoder(nn.Module):
    def __init__(self, V, D_E, D_H):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.cell = nn.GRUCell(D_E + D_H, D_H)
        self.out = nn.Linear(D_H, V)

    @staticmethod
    def shift_tokens_right(input_ids, decoder_start_token_id):
        shifted_input_ids = input_ids.new_zeros(input_ids.shape)
        shifted_input_ids[:, 1:] = input_ids[:, :-1].clone()
        shifted_input_ids[:, 0] = decoder_start_token_id
        return shifted_input_ids

    def forward(self, y, c):
        decoder_input_ids = self.shift_tokens_right(y, SOS_token)
        inputs_embeds = self.embedding(decoder_input_ids)
        hidden_state, all_hidden_states = c, ()
        for step in range(inputs_embeds.shape[1]):
            hidden_state = self.cell(torch.cat([inputs_embeds[:, step], c], dim=-1), hidden_state)
            all_hidden_states += (hidden_state,)
        return self.out(torch.stack(all_hidden_states, dim=1))


@practice("d2l: time first, the context repeated")
class D2LDecoder(nn.Module):
    def __init__(self, V, D_E, D_H):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.cell = nn.GRUCell(D_E + D_H, D_H)
        self.out = nn.Linear(D_H, V)

    def forward(self, y, c):
        bos = torch.tensor([SOS_token] * y.shape[0], device=y.device).reshape(-1, 1)
        dec_input = torch.cat([bos, y[:, :-1]], 1)
        embs = self.embedding(dec_input.t())
        context = c.repeat(embs.shape[0], 1, 1)
        embs_and_context = torch.cat((embs, context), -1)
        state, outputs = c, []
        for X in embs_and_context:
            state = self.cell(X, state)
            outputs.append(state)
        return self.out(torch.stack(outputs)).swapaxes(0, 1)


@practice("fairseq: prev_output_tokens by rolling")
class FairseqDecoder(nn.Module):
    def __init__(self, V, D_E, D_H):
        super().__init__()
        self.embedding = nn.Embedding(num_embeddings=V, embedding_dim=D_E)
        self.cell = nn.GRUCell(input_size=D_E + D_H, hidden_size=D_H)
        self.out = nn.Linear(D_H, V)

    def forward(self, y, c):
        bsz, seqlen = y.size()
        prev_output_tokens = torch.roll(y, 1, dims=1)
        prev_output_tokens[:, 0] = SOS_token
        x = self.embedding(prev_output_tokens).transpose(0, 1)  # B x T x C -> T x B x C
        hidden = c
        outs = []
        for j in range(seqlen):
            hidden = self.cell(torch.cat((x[j, :, :], c), dim=1), hidden)
            outs.append(hidden)
        x = torch.cat(outs, dim=0).view(seqlen, bsz, -1)
        x = x.transpose(1, 0)  # T x B x C -> B x T x C
        return self.out(x)


@practice("F.pad, unbind and a preallocated result")
class PaddedDecoder(nn.Module):
    def __init__(self, V, D_E, D_H):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.cell = nn.GRUCell(D_E + D_H, D_H)
        self.out = nn.Linear(D_H, V)

    def forward(self, y, c):
        emb = self.embedding(F.pad(y[:, :-1], (1, 0), value=SOS_token))
        logits = c.new_empty(*y.shape, self.out.out_features)
        s = c.clone()
        for t, e in enumerate(emb.unbind(dim=1)):
            s = self.cell(torch.cat([e, c], -1), s)
            logits[:, t] = self.out(s)
        return logits


@practice("functional: itertools.accumulate as a scan")
class ScanDecoder(nn.Module):
    def __init__(self, V, D_E, D_H):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.cell = nn.GRUCell(D_E + D_H, D_H)
        self.out = nn.Linear(D_H, V)

    def forward(self, y, c):
        fed = [torch.full_like(y[:, 0], SOS_token), *y.T[:-1]]
        xs = [torch.hstack([self.embedding(tokens), c]) for tokens in fed]
        _, *states = accumulate(xs, lambda s, x: self.cell(x, s), initial=c)
        return torch.stack([self.out(s) for s in states], dim=-2)
