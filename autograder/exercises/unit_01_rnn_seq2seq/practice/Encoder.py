"""Right answers to `Encoder`, as others write them."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from autograder.bank.practice import practice


@practice("PyTorch's seq2seq tutorials: packed sequences")
class PackedEncoder(nn.Module):
    def __init__(self, V, D_E, D_H):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.rnn = nn.GRU(D_E, D_H, batch_first=True)

    def forward(self, tokens, lengths):
        embedded = self.embedding(tokens)
        packed = pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, hidden = self.rnn(packed)
        outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=tokens.size(1))
        return outputs, hidden[-1]


@practice("fairseq: sorted by hand, packed, and sorted back")
class FairseqEncoder(nn.Module):
    def __init__(self, V, D_E, D_H):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.rnn = nn.GRU(input_size=D_E, hidden_size=D_H, num_layers=1, batch_first=True)

    def forward(self, tokens, lengths):
        bsz, seqlen = tokens.size()
        src_lengths, order = lengths.sort(descending=True)
        x = self.embedding(tokens.index_select(0, order))
        packed_x = nn.utils.rnn.pack_padded_sequence(x, src_lengths.tolist(), batch_first=True)
        packed_outs, final_hiddens = self.rnn(packed_x)
        x, _ = nn.utils.rnn.pad_packed_sequence(packed_outs, batch_first=True, padding_value=0.0, total_length=seqlen)
        restore = order.argsort()
        return x.index_select(0, restore), final_hiddens.squeeze(0).index_select(0, restore)


@practice("OpenNMT: padding_idx, a sequence mask, gather")
class MaskedEncoder(nn.Module):
    def __init__(self, V, D_E, D_H):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E, padding_idx=0)
        self.rnn = nn.GRU(D_E, D_H, batch_first=True)

    @staticmethod
    def sequence_mask(lengths, max_len):
        return torch.arange(0, max_len, device=lengths.device).type_as(lengths).unsqueeze(0) < lengths.unsqueeze(1)

    def forward(self, tokens, lengths):
        memory_bank, _ = self.rnn(self.embedding(tokens))
        mask = self.sequence_mask(lengths, tokens.size(1))
        memory_bank = memory_bank.masked_fill(~mask.unsqueeze(-1), 0.0)
        last = (lengths - 1).long().view(-1, 1, 1).expand(-1, 1, memory_bank.size(-1))
        return memory_bank, memory_bank.gather(1, last).squeeze(1)


@practice("numpy-minded: fancy indices")
class IndexedEncoder(nn.Module):
    def __init__(self, V, D_E, D_H):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.rnn = nn.GRU(D_E, D_H, batch_first=True)

    def forward(self, tokens, lengths):
        B, T = tokens.shape
        out = self.rnn(self.embedding(tokens))[0]
        t = torch.arange(T, device=tokens.device)
        H = out * (t < lengths[:, None])[..., None]
        return H, out[torch.arange(B, device=tokens.device), lengths - 1]


@practice("einops", needs="einops")
class EinopsEncoder(nn.Module):
    def __init__(self, V, D_E, D_H):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.rnn = nn.GRU(D_E, D_H, batch_first=True)

    def forward(self, tokens, lengths):
        from einops import rearrange, reduce

        n, device = tokens.shape[1], tokens.device
        x, _ = self.rnn(self.embedding(tokens))
        seq = torch.arange(n, device=device)
        mask = seq < rearrange(lengths, "b -> b 1")
        is_last = seq == rearrange(lengths - 1, "b -> b 1")
        x = torch.where(rearrange(mask, "b n -> b n 1"), x, 0.0)
        return x, reduce(x * rearrange(is_last, "b n -> b n 1"), "b n d -> b d", "sum")


@practice("a loop over the sentences")
class LoopEncoder(nn.Module):
    def __init__(self, V, D_E, D_H):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.rnn = nn.GRU(D_E, D_H, batch_first=True)

    def forward(self, tokens, lengths):
        emb = self.embedding(tokens)
        H = emb.new_zeros(tokens.shape[0], tokens.shape[1], self.rnn.hidden_size)
        finals = []
        for b, n in enumerate(lengths.tolist()):
            out, h_n = self.rnn(emb[b : b + 1, :n])
            H[b, :n] = out[0]
            finals.append(h_n[0, 0])
        return H, torch.stack(finals)
