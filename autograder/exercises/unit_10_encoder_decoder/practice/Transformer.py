"""Right answers to `Transformer`, as others write them."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from autograder.bank.practice import practice


def clones(module, N):
    "Produce N identical layers."
    return nn.ModuleList([copy.deepcopy(module) for _ in range(N)])


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=1000):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe, persistent=False)

    def forward(self, x):
        return x + self.pe[:, : x.size(1)].to(x).requires_grad_(False)


@practice("the Annotated Transformer")
class Annotated(nn.Module):
    def __init__(self, V, D, H, D_F, L):
        super().__init__()
        c = copy.deepcopy
        layer = nn.TransformerEncoderLayer(D, H, D_F, dropout=0.0, batch_first=True, norm_first=True)
        self.embedding = nn.Embedding(V, D)
        self.position = PositionalEncoding(D)
        self.encoder = clones(c(layer), L)
        self.encoder_norm = nn.LayerNorm(D)
        layer = nn.TransformerDecoderLayer(D, H, D_F, dropout=0.0, batch_first=True, norm_first=True)
        self.decoder = clones(c(layer), L)
        self.decoder_norm = nn.LayerNorm(D)
        self.d_model = D

    def embed(self, x):
        return self.position(self.embedding(x) * math.sqrt(self.d_model))

    @staticmethod
    def make_std_mask(tgt, pad):
        "Create a mask to hide future words."
        size = tgt.size(-1)
        return torch.triu(torch.ones(size, size, device=tgt.device), diagonal=1).type(torch.uint8) == 1

    def encode(self, src, src_mask):
        x = self.embed(src)
        for layer in self.encoder:
            x = layer(x, src_key_padding_mask=src_mask)
        return self.encoder_norm(x)

    def decode(self, memory, src_mask, tgt, tgt_mask):
        x = self.embed(tgt)
        for layer in self.decoder:
            x = layer(x, memory, tgt_mask=tgt_mask, memory_key_padding_mask=src_mask)
        return self.decoder_norm(x)

    def forward(self, source, target):
        pad = 0
        src_mask = source == pad
        out = self.decode(self.encode(source, src_mask), src_mask, target, self.make_std_mask(target, pad))
        return F.linear(out, self.embedding.weight)


@practice("PyTorch's tutorial on translation")
class Tutorial(nn.Module):
    def __init__(self, V: int, D: int, H: int, D_F: int, L: int):
        super().__init__()
        self.emb_size = D
        self.embedding = nn.Embedding(V, D)
        kwargs = dict(d_model=D, nhead=H, dim_feedforward=D_F, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.ModuleList([nn.TransformerEncoderLayer(**kwargs) for _ in range(L)])
        self.encoder_norm = nn.LayerNorm(D)
        self.decoder = nn.ModuleList([nn.TransformerDecoderLayer(**kwargs) for _ in range(L)])
        self.decoder_norm = nn.LayerNorm(D)

    def positional_encoding(self, maxlen, device):
        den = torch.exp(-torch.arange(0, self.emb_size, 2, device=device) * math.log(10000) / self.emb_size)
        pos = torch.arange(0, maxlen, device=device).reshape(maxlen, 1)
        pos_embedding = torch.zeros((maxlen, self.emb_size), device=device)
        pos_embedding[:, 0::2] = torch.sin(pos * den)
        pos_embedding[:, 1::2] = torch.cos(pos * den)
        return pos_embedding.unsqueeze(0)

    def token_embedding(self, tokens):
        scaled = self.embedding(tokens.long()) * math.sqrt(self.emb_size)
        return scaled + self.positional_encoding(tokens.size(1), tokens.device).to(scaled.dtype)

    def create_mask(self, src, tgt):
        tgt_seq_len = tgt.shape[1]
        mask = (torch.triu(torch.ones((tgt_seq_len, tgt_seq_len), device=tgt.device)) == 1).transpose(0, 1)
        tgt_mask = mask.float().masked_fill(mask == 0, float("-inf")).masked_fill(mask == 1, 0.0)
        padding = torch.zeros(src.shape, device=src.device).masked_fill(src == 0, float("-inf"))
        target_padding = torch.zeros(tgt.shape, device=tgt.device).masked_fill(tgt == 0, float("-inf"))
        return tgt_mask, padding, target_padding

    def forward(self, source, target):
        src, tgt = self.token_embedding(source), self.token_embedding(target)
        masks = self.create_mask(source, target)
        tgt_mask, src_padding_mask, tgt_padding_mask = (one.to(src.dtype) for one in masks)
        for layer in self.encoder:
            src = layer(src, None, src_padding_mask)
        memory = self.encoder_norm(src)
        outs = tgt
        for layer in self.decoder:
            outs = layer(outs, memory, tgt_mask, None, tgt_padding_mask, src_padding_mask)
        return self.decoder_norm(outs) @ self.embedding.weight.transpose(0, 1)


@practice("transformers")
class HuggingFace(nn.Module):
    """Marian's order of things, with the head tied by an nn.functional.linear and masks that are added."""

    def __init__(self, V, D, H, D_F, L):
        super().__init__()
        self.padding_idx = 0
        self.embed_scale = math.sqrt(D)
        self.embedding = nn.Embedding(V, D, self.padding_idx)
        options = {"dropout": 0.0, "activation": "relu", "batch_first": True, "norm_first": True}
        self.encoder = nn.ModuleList([nn.TransformerEncoderLayer(D, H, D_F, **options) for _ in range(L)])
        self.encoder_norm = nn.LayerNorm(D)
        self.decoder = nn.ModuleList([nn.TransformerDecoderLayer(D, H, D_F, **options) for _ in range(L)])
        self.decoder_norm = nn.LayerNorm(D)

    @torch.no_grad()
    def embed_positions(self, input_ids, like):
        n_pos, dim = input_ids.shape[1], like.shape[-1]
        position_enc = torch.tensor(
            [[pos / math.pow(10000, 2 * (j // 2) / dim) for j in range(dim)] for pos in range(n_pos)],
            dtype=like.dtype,
            device=like.device,
        )
        out = torch.empty_like(position_enc)
        out[:, 0::2] = position_enc[:, 0::2].sin()
        out[:, 1::2] = position_enc[:, 1::2].cos()
        return out

    def embed(self, input_ids):
        inputs_embeds = self.embedding(input_ids) * self.embed_scale
        return inputs_embeds + self.embed_positions(input_ids, inputs_embeds)

    def forward(self, source, target):
        attention_mask = source.ne(self.padding_idx)
        hidden_states = self.embed(source)
        for encoder_layer in self.encoder:
            hidden_states = encoder_layer(hidden_states, src_key_padding_mask=~attention_mask)
        encoder_hidden_states = self.encoder_norm(hidden_states)

        hidden_states = self.embed(target)
        causal_mask = torch.full((target.size(1),) * 2, torch.finfo(hidden_states.dtype).min, dtype=hidden_states.dtype)
        causal_mask = causal_mask.triu(diagonal=1).to(hidden_states.device)
        expanded = torch.zeros_like(attention_mask, dtype=hidden_states.dtype)
        expanded = expanded.masked_fill(~attention_mask, torch.finfo(hidden_states.dtype).min)
        for decoder_layer in self.decoder:
            hidden_states = decoder_layer(
                hidden_states, encoder_hidden_states, tgt_mask=causal_mask, memory_key_padding_mask=expanded
            )
        hidden_states = self.decoder_norm(hidden_states)
        return nn.functional.linear(hidden_states, self.embedding.weight)


@practice("d2l")
class DiveIntoDeepLearning(nn.Module):
    def __init__(self, V, D, H, D_F, L):
        super().__init__()
        self.num_hiddens, self.num_blks = D, L
        self.embedding = nn.Embedding(V, D)
        self.encoder, self.decoder = nn.ModuleList(), nn.ModuleList()
        for _ in range(L):
            self.encoder.append(nn.TransformerEncoderLayer(D, H, D_F, 0.0, batch_first=True, norm_first=True))
            self.decoder.append(nn.TransformerDecoderLayer(D, H, D_F, 0.0, batch_first=True, norm_first=True))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(D), nn.LayerNorm(D)
        self.P = None

    def pos_encoding(self, X):
        steps, num_hiddens = X.shape[1:]
        P = torch.zeros((1, steps, num_hiddens), dtype=X.dtype, device=X.device)
        angles = torch.arange(steps, dtype=torch.float32, device=X.device).reshape(-1, 1) / torch.pow(
            10000, torch.arange(0, num_hiddens, 2, dtype=torch.float32, device=X.device) / num_hiddens
        )
        P[:, :, 0::2] = torch.sin(angles)
        P[:, :, 1::2] = torch.cos(angles)
        return X + P

    def forward(self, source, target):
        enc_valid_lens = (source != 0).sum(dim=1)
        hidden = torch.arange(source.shape[1], device=source.device)[None, :] >= enc_valid_lens[:, None]
        X = self.pos_encoding(self.embedding(source) * math.sqrt(self.num_hiddens))
        for blk in self.encoder:
            X = blk(X, src_key_padding_mask=hidden)
        enc_outputs = self.encoder_norm(X)
        X = self.pos_encoding(self.embedding(target) * math.sqrt(self.num_hiddens))
        later = ~torch.ones(X.shape[1], X.shape[1], dtype=torch.bool, device=X.device).tril()
        for blk in self.decoder:
            X = blk(X, enc_outputs, tgt_mask=later, memory_key_padding_mask=hidden, tgt_is_causal=True)
        return torch.matmul(self.decoder_norm(X), self.embedding.weight.t())


def attention(asking, read, layer, heads, allowed):
    """What nn.MultiheadAttention does, with its own weights."""
    D = asking.shape[-1]
    W, b = layer.in_proj_weight.split(D), layer.in_proj_bias.split(D)
    q, k, v = (
        F.linear(x, W[i], b[i]).unflatten(-1, (heads, -1)).transpose(1, 2) for i, x in enumerate((asking, read, read))
    )
    found = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
    return layer.out_proj(found.transpose(1, 2).flatten(2))


@practice("the layers' weights by hand")
class ByHand(nn.Module):
    def __init__(self, V, D, H, D_F, L):
        super().__init__()
        more = dict(dropout=0.0, batch_first=True, norm_first=True)
        self.H = H
        self.embedding = nn.Embedding(V, D)
        self.encoder = nn.ModuleList(nn.TransformerEncoderLayer(D, H, D_F, **more) for _ in range(L))
        self.encoder_norm = nn.LayerNorm(D)
        self.decoder = nn.ModuleList(nn.TransformerDecoderLayer(D, H, D_F, **more) for _ in range(L))
        self.decoder_norm = nn.LayerNorm(D)

    def start(self, words):
        D = self.embedding.embedding_dim
        rows = []
        for t in range(words.shape[1]):
            row = []
            for i in range(D // 2):
                angle = t * 10000 ** (-2 * i / D)
                row += [math.sin(angle), math.cos(angle)]
            rows.append(row)
        return self.embedding(words) * D**0.5 + torch.tensor(rows, device=words.device).to(self.embedding.weight.dtype)

    def forward(self, source, target):
        words = (source > 0)[:, None, None, :]
        X = self.start(source)
        for one in self.encoder:
            normed = one.norm1(X)
            X = X + attention(normed, normed, one.self_attn, self.H, words)
            X = X + one.linear2(F.relu(one.linear1(one.norm2(X))))
        memory = self.encoder_norm(X)
        Y, T = self.start(target), target.shape[1]
        causal = torch.ones(T, T, device=target.device).tril().bool()
        for one in self.decoder:
            normed = one.norm1(Y)
            Y = Y + attention(normed, normed, one.self_attn, self.H, causal)
            Y = Y + attention(one.norm2(Y), memory, one.multihead_attn, self.H, words)
            Y = Y + one.linear2(F.relu(one.linear1(one.norm3(Y))))
        return self.decoder_norm(Y) @ self.embedding.weight.mT


@practice("fairseq")
class Fairseq(nn.Module):
    """The head is a linear layer that shares the embedding's weight."""

    def __init__(self, V, D, H, D_F, L):
        super().__init__()
        self.padding_idx = 0
        self.embedding = nn.Embedding(V, D)
        self.embed_scale = math.sqrt(D)
        self.encoder = nn.ModuleList([])
        self.encoder.extend([self.build_encoder_layer(D, H, D_F) for i in range(L)])
        self.encoder_norm = nn.LayerNorm(D)
        self.decoder = nn.ModuleList([])
        self.decoder.extend([self.build_decoder_layer(D, H, D_F) for _ in range(L)])
        self.decoder_norm = nn.LayerNorm(D)

    def build_encoder_layer(self, D, H, D_F):
        return nn.TransformerEncoderLayer(D, H, D_F, dropout=0.0, batch_first=True, norm_first=True)

    def build_decoder_layer(self, D, H, D_F):
        return nn.TransformerDecoderLayer(D, H, D_F, dropout=0.0, batch_first=True, norm_first=True)

    def forward_embedding(self, tokens):
        x = self.embed_scale * self.embedding(tokens)
        half_dim = x.size(-1) // 2
        inv = torch.exp(torch.arange(half_dim, dtype=torch.float, device=x.device) * -(math.log(10000) / half_dim))
        angles = torch.arange(tokens.size(1), dtype=torch.float, device=x.device).unsqueeze(1) * inv.unsqueeze(0)
        positions = torch.cat([torch.sin(angles)[..., None], torch.cos(angles)[..., None]], dim=2).view(
            tokens.size(1), -1
        )
        return x + positions.type_as(x)

    def forward(self, source, target):
        encoder_padding_mask = source.eq(self.padding_idx)
        has_pads = encoder_padding_mask.any()
        x = self.forward_embedding(source)
        for layer in self.encoder:
            x = layer(x, src_key_padding_mask=encoder_padding_mask if has_pads else None)
        encoder_out = self.encoder_norm(x)
        x = self.forward_embedding(target)
        future = torch.triu(x.new_full((x.size(1), x.size(1)), float("-inf")), 1)
        padding = x.new_zeros(encoder_padding_mask.shape).masked_fill(encoder_padding_mask, float("-inf"))
        for layer in self.decoder:
            x = layer(x, encoder_out, tgt_mask=future, memory_key_padding_mask=padding)
        return F.linear(self.decoder_norm(x), self.embedding.weight)
