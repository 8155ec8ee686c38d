"""Test answers for GPT (assignment 11): right ones in unusual styles, wrong ones with what is wrong about them."""

import copy
import functools
import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import after, before, change, right, wrong


def _block(D, H, D_F, **other):
    settings = dict(dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
    return nn.TransformerEncoderLayer(D, H, D_F, **(settings | other))


class _Base(nn.Module):
    """The layers as the text asks for them, and the steps of forward one by one."""

    def __init__(self, V, N, D, H, D_F, L):
        super().__init__()
        self.tokens = nn.Embedding(V, D)
        self.positions = nn.Embedding(N, D)
        self.blocks = nn.ModuleList([_block(D, H, D_F) for _ in range(L)])
        self.norm = nn.LayerNorm(D)

    def embedded(self, tokens):
        return self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]

    def mask(self, X):
        n = X.shape[1]
        return torch.ones(n, n, dtype=torch.bool, device=X.device).triu(1)

    def through(self, X):
        mask = self.mask(X)
        for block in self.blocks:
            X = block(X, src_mask=mask)
        return X

    def head(self, X):
        return self.norm(X) @ self.tokens.weight.T

    def forward(self, tokens):
        return self.head(self.through(self.embedded(tokens)))


# -------------------------------------------------------------------------------------------------------------- right


@right("the mask as a persistent buffer of N times N, cut to n in each call; F.linear with the table for the head")
class PersistentBuffer(nn.Module):
    def __init__(self, V: int, N: int, D: int, H: int, D_F: int, L: int):
        super().__init__()
        self.tokens = nn.Embedding(V, D)
        self.positions = nn.Embedding(N, D)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(D, H, D_F, 0.0, "gelu", batch_first=True, norm_first=True) for _ in range(L)
        )
        self.norm = nn.LayerNorm(D)
        self.register_buffer("mask", torch.triu(torch.ones(N, N), diagonal=1).bool())

    def forward(self, tokens):
        n = tokens.size(1)
        X = self.tokens(tokens) + self.positions(torch.arange(n, device=tokens.device))
        for block in self.blocks:
            X = block(X, self.mask[:n, :n])
        return F.linear(self.norm(X), self.tokens.weight)


@right("a buffer that is not saved, reduce over the blocks")
class Reduced(_Base):
    def __init__(self, V, N, D, H, D_F, L):
        super().__init__(V, N, D, H, D_F, L)
        places = torch.arange(N)
        self.register_buffer("later", places[None, :] > places[:, None], persistent=False)

    def forward(self, tokens):
        n = tokens.shape[-1]
        X = functools.reduce(lambda X, block: block(X, src_mask=self.later[:n, :n]), self.blocks, self.embedded(tokens))
        return torch.einsum("bnd,vd->bnv", self.norm(X), self.tokens.weight)


@right("torch's own causal mask of 0 and −∞ in the type of the weights")
class OwnCausalMask(_Base):
    def mask(self, X):
        return nn.Transformer.generate_square_subsequent_mask(X.shape[1], device=X.device, dtype=X.dtype)


@right("a mask of −∞ above the diagonal, with is_causal as a hint")
class HintOfCausality(_Base):
    def through(self, X):
        n = X.size(1)
        mask = torch.full((n, n), -math.inf, dtype=X.dtype, device=X.device).triu(1)
        for block in self.blocks:
            X = block(X, src_mask=mask, is_causal=True)
        return X


@right("a mask for each text and head, [B H, n, n]")
class MaskForEachHead(_Base):
    def __init__(self, V, N, D, H, D_F, L):
        super().__init__(V, N, D, H, D_F, L)
        self.H = H

    def mask(self, X):
        B, n, _ = X.shape
        allowed = X.new_ones(n, n).tril() > 0
        return (~allowed).expand(B * self.H, n, n)


@right("text by text, stacked at the end")
class TextByText(_Base):
    def forward(self, tokens):
        return torch.stack([super(TextByText, self).forward(text.unsqueeze(0)).squeeze(0) for text in tokens.unbind(0)])


@right("calls itself from the last block to the first, which reads the embeddings")
class Recursive(_Base):
    def X(self, l, tokens):
        if l == 0:
            places = torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens)
            return self.positions(places).add(self.tokens(tokens))
        X = self.X(l - 1, tokens)
        return self.blocks[l - 1](X, src_mask=self.mask(X))

    def forward(self, tokens):
        return self.head(self.X(len(self.blocks), tokens))


@right("texts are filled up to N with token 0 and cut to n at the end: under the mask the filling is never read")
class FilledUp(_Base):
    def forward(self, tokens):
        n, N = tokens.shape[1], self.positions.num_embeddings
        return super().forward(F.pad(tokens, (0, N - n)))[:, :n]


@right("one-hot vectors times the tables")
class OneHot(_Base):
    def embedded(self, tokens):
        E, P = self.tokens.weight, self.positions.weight
        chosen = F.one_hot(tokens, E.shape[0]).to(E.dtype)
        places = torch.eye(P.shape[0], dtype=P.dtype, device=P.device)[: tokens.shape[1]]
        return chosen @ E + places @ P


@right("the logits of one word after another: a dot product with each row of the table")
class WordByWord(_Base):
    def head(self, X):
        Z = self.norm(X)
        return torch.stack([(Z * e).sum(-1) for e in self.tokens.weight], dim=-1)


@right("features and positions exchanged for the head: E times columns; the mask from cumulative sums")
class Columns(_Base):
    def mask(self, X):
        one = torch.eye(X.shape[1], dtype=torch.int64, device=X.device)
        return one.cumsum(-1) - one > 0

    def head(self, X):
        return (self.tokens.weight @ self.norm(X).mT).transpose(1, 2)


@right("index_select for both tables, F.layer_norm with the layer's numbers, masks kept for each n and device")
class KeptMasks(_Base):
    def __init__(self, *sizes, **named):
        super().__init__(*sizes, **named)
        self.kept = {}

    def mask(self, X):
        key = X.shape[1], X.device
        if key not in self.kept:
            self.kept[key] = super().mask(X)
        return self.kept[key]

    def forward(self, tokens):
        B, n = tokens.shape
        X = self.tokens.weight.index_select(0, tokens.reshape(-1)).reshape(B, n, -1)
        X = self.through(X + self.positions.weight.narrow(0, 0, n))
        norm = self.norm
        return F.layer_norm(X, norm.normalized_shape, norm.weight, norm.bias, norm.eps).matmul(self.tokens.weight.t())


# --------------------------------------------------------------------------------------------------- wrong: the mask


change(_Base.through, "NoMask", "no mask: every position attends to all", "concept",
       ("mask = self.mask(X)", ""), ("X, src_mask=mask", "X"))


# Right, and not registered: answers below are changes of it.
class _PlainMask(_Base):
    def mask(self, X):
        return super().mask(X)


change(_PlainMask, "MaskOtherWayRound", "True means allowed in the mask, as in this course: position i may look only "
       "at later ones, the last at none", "concept",
       ("super().mask(X)", "~super().mask(X)"))
change(_PlainMask, "FutureOnly",
       "the mask is transposed: each position attends to itself and to the later ones", "concept",
       ("super().mask(X)", "super().mask(X).T"))
change(_PlainMask, "NotItself",
       "the mask forbids the position itself too, and the first row has nothing left: NaN", "edge",
       ("super().mask(X)", "torch.ones(X.shape[1], X.shape[1], device=X.device).triu().bool()"))
change(_PlainMask, "OneLater", "the mask lets in one later position: triu begins at the second diagonal", "concept",
       ("super().mask(X)", "super().mask(X).triu(2)"))
change(_Base.through, "MaskInTheFirst", "the mask is given to the first block alone", "concept",
       ("for block in self.blocks:", "for number, block in enumerate(self.blocks):"),
       ("src_mask=mask", "src_mask=mask if number == 0 else None"))
change(_Base.through, "LastWithoutMask", "the last block works without a mask", "concept",
       ("self.blocks", "self.blocks[:-1]"), ("return X", "return self.blocks[-1](X)"))
change(_PlainMask, "MinusTen", "−10 instead of −∞ in the mask: later positions keep a little weight", "numerics",
       ("super().mask(X)", "super().mask(X).to(X.dtype) * -10"))
change(_Base.mask, "MaskOfTheContext", "the mask is that of N positions, which fails for shorter texts", "edge",
       ("n = X.shape[1]", "N = self.positions.num_embeddings"), ("n, n", "N, N"))


@wrong("the mask is made in the first call and kept: texts of another length fail", kind="interface")
class MaskOfTheFirstCall(_Base):
    def mask(self, X):
        if not hasattr(self, "first_mask"):
            self.first_mask = super().mask(X)
        return self.first_mask


change(_PlainMask, "Window", "each position sees the last 16 positions only", "concept",
       ("return super().mask(X)", """
        later = super().mask(X)
        return later | torch.ones_like(later).tril(-16)"""))


@wrong("token 0 is taken for padding and hidden as a key", kind="edge")
class ZeroIsPadding(_Base):
    def forward(self, tokens):
        X = self.embedded(tokens)
        hidden = self.mask(X) | (tokens == 0)[:, None, :]
        hidden = hidden & ~torch.eye(X.shape[1], dtype=torch.bool, device=X.device)
        hidden = hidden.repeat_interleave(self.blocks[0].self_attn.num_heads, dim=0)
        for block in self.blocks:
            X = block(X, src_mask=hidden)
        return self.head(X)


change(_PlainMask, "MaskOnTheCPU",
       "the mask is made on the CPU, which fails for a model on another device", "interface",
       ("super().mask(X)", "torch.ones(X.shape[1], X.shape[1]).triu(1).bool()"))
change(_PlainMask, "MaskOfFloat32", "a mask of −∞ in float32 whatever the model is: with float64 torch refuses it, or, "
       "on the CPU from 16 positions on, reads it wrongly without an error", "numerics",
       ("super().mask(X)",
        "torch.full((X.shape[1], X.shape[1]), -math.inf, dtype=torch.float32, device=X.device).triu(1)"))


# ----------------------------------------------------------------------------------------------------- wrong: the head


@wrong("the head is a linear layer of its own, not tied to the table", kind="module")
class OwnHead(_Base):
    def __init__(self, V, N, D, H, D_F, L):
        super().__init__(V, N, D, H, D_F, L)
        self.lm_head = nn.Linear(D, V, bias=False)

    def head(self, X):
        return self.lm_head(self.norm(X))


@wrong(
    "the head begins as a copy of the table, a parameter of its own: both are equal until the first step", kind="module"
)
class CopiedHead(_Base):
    def __init__(self, V, N, D, H, D_F, L):
        super().__init__(V, N, D, H, D_F, L)
        self.output = nn.Parameter(self.tokens.weight.detach().clone())

    def head(self, X):
        return self.norm(X) @ self.output.T


@wrong("the head has a bias, which begins at 0", kind="module")
class HeadWithBias(_Base):
    def __init__(self, V, N, D, H, D_F, L):
        super().__init__(V, N, D, H, D_F, L)
        self.bias = nn.Parameter(torch.zeros(V))

    def head(self, X):
        return super().head(X) + self.bias


change(_Base.head, "DetachedHead",
       "the table is detached in the head: its gradient comes from the embeddings alone", "gradient",
       (".weight.T", ".weight.detach().T"))
change(_Base.head, "WithoutNorm", "the norm before the head is missing (and never used)", "concept",
       ("self.norm(X)", "X"))


@wrong("the norm acts on the embeddings and not on what the last block makes", kind="concept")
class NormFirst(_Base):
    def forward(self, tokens):
        return self.through(self.norm(self.embedded(tokens))) @ self.tokens.weight.T


@wrong("the norm acts after every block, not only after the last one", kind="concept")
class NormAfterEach(_Base):
    def through(self, X):
        mask = self.mask(X)
        for block in self.blocks:
            X = self.norm(block(X, src_mask=mask))
        return X

    def head(self, X):
        return X @ self.tokens.weight.T


# Right, and not registered: answers below are changes of it.
class _PlainInit(_Base):
    def __init__(self, V, N, D, H, D_F, L):
        super().__init__(V, N, D, H, D_F, L)


change(_PlainInit, "PlainNorm", "the last norm has no weights of its own (elementwise_affine=False)", "module",
       after("super().__init__(V, N, D, H, D_F, L)", "self.norm = nn.LayerNorm(D, elementwise_affine=False)"))
change(_Base.head, "Probabilities", "a softmax over the vocabulary: probabilities, not logits", "concept",
       ("return self.norm(X) @ self.tokens.weight.T", "return super().head(X).softmax(-1)"))


@wrong("where V = D the table is multiplied without its transposition (tried as it is first)", kind="edge")
class TransposedByTrying(_Base):
    def head(self, X):
        E = self.tokens.weight
        return self.norm(X) @ (E if E.shape[0] == X.shape[-1] else E.T)


change(_Base.head, "LastPosition", "logits of the last position alone, [B, V]", "shape",
       ("return self.norm(X) @ self.tokens.weight.T", "return super().head(X[:, -1])"))
change(_Base.head, "WithoutTheLast",
       "the last position has no logits, since nothing follows it: [B, n − 1, V]", "shape",
       ("return self.norm(X) @ self.tokens.weight.T", "return super().head(X)[:, :-1]"))
change(_Base.head, "Shifted", "the logits are moved on by one position, so that those at i are about token i (the "
       "first gets the last's)", "concept",
       ("return self.norm(X) @ self.tokens.weight.T", "return super().head(X).roll(1, dims=1)"))


# ----------------------------------------------------------------------------------------------- wrong: the embeddings


change(_Base.embedded, "WithoutPositions", "the positions are missing (the table exists but is never used)", "concept",
       (".tokens(tokens) + self.positions.weight[: tokens.shape[1]]", ".tokens(tokens)"))


@wrong("positions are counted from 1: row i + 1 of P, and position N has to share the last row", kind="concept")
class PositionsFromOne(_Base):
    def embedded(self, tokens):
        places = torch.arange(1, tokens.shape[1] + 1, device=tokens.device)
        return self.tokens(tokens) + self.positions(places.clamp(max=self.positions.num_embeddings - 1))


change(_Base.embedded, "AtTheEnd",
       "the last n rows of P are taken and not the first n: shorter texts sit at the end of the context", "edge",
       (".weight[: tokens.shape[1]]", ".weight[-tokens.shape[1] :]"))
change(_Base.embedded, "AllPositions", "all N rows of P are added, which fails for shorter texts", "edge",
       (".weight[: tokens.shape[1]]", ".weight"))


@wrong("the positions are those of sines and cosines, not learned ones", kind="module")
class SinesAndCosines(_Base):
    def embedded(self, tokens):
        X = self.tokens(tokens)
        n, D = X.shape[1:]
        angles = torch.arange(n, device=X.device)[:, None] / 10000 ** (torch.arange(D, device=X.device) // 2 * 2 / D)
        even = torch.arange(D, device=X.device) % 2 == 0
        return X + torch.where(even, angles.sin(), angles.cos()).to(X.dtype)


@wrong("the token embeddings are multiplied by the root of D", kind="concept")
class ScaledEmbeddings(_Base):
    def embedded(self, tokens):
        E = self.tokens(tokens)
        return E * math.sqrt(E.shape[-1]) + self.positions.weight[: E.shape[1]]


@wrong("the positions are added again before every block", kind="concept")
class PositionsInEveryBlock(_Base):
    def forward(self, tokens):
        X, P = self.tokens(tokens), self.positions.weight[: tokens.shape[1]]
        mask = self.mask(X)
        for block in self.blocks:
            X = block(X + P, src_mask=mask)
        return self.head(X)


change(_PlainInit, "PaddingIndex",
       "nn.Embedding with padding_idx=0: token 0 begins at 0 and gets no gradient from its embedding", "gradient",
       after("super().__init__(V, N, D, H, D_F, L)", "self.tokens = nn.Embedding(V, D, padding_idx=0)"))
change(_PlainInit, "ShortenedTable",
       "nn.Embedding with max_norm=1 shortens rows of the table in place in each call", "module",
       after("super().__init__(V, N, D, H, D_F, L)", "self.tokens = nn.Embedding(V, D, max_norm=1.0)"))


@wrong("the first token of each text is overwritten with 0, a start mark, in the input", kind="interface")
class StartMark(_Base):
    def forward(self, tokens):
        tokens[:, 0] = 0
        return super().forward(tokens)


# --------------------------------------------------------------------------------------------------- wrong: the blocks


change(_PlainInit, "OneBlock", "one block L times in the list: all share their weights", "module",
       after("super().__init__(V, N, D, H, D_F, L)", "self.blocks = nn.ModuleList([_block(D, H, D_F)] * L)"))


@wrong("the blocks are in a plain list, so that their weights are no parameters of the model", kind="module")
class PlainList(nn.Module):
    def __init__(self, V, N, D, H, D_F, L):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(V, D), nn.Embedding(N, D)
        self.blocks = [_block(D, H, D_F) for _ in range(L)]
        self.norm = nn.LayerNorm(D)

    forward, embedded, through, mask, head = _Base.forward, _Base.embedded, _Base.through, _Base.mask, _Base.head


change(_PlainInit, "PostNorm", "post-norm blocks: norm_first=True was forgotten", "module",
       after("super().__init__(V, N, D, H, D_F, L)",
             "self.blocks = nn.ModuleList([_block(D, H, D_F, norm_first=False) for _ in range(L)])"))
change(_PlainInit, "Dropout", "the default dropout of 0.1 in training mode", "module",
       after("super().__init__(V, N, D, H, D_F, L)",
             "self.blocks = nn.ModuleList([_block(D, H, D_F, dropout=0.1) for _ in range(L)])"))
change(_PlainInit, "WithReLU", "ReLU in the blocks, torch's default, and not GELU", "module",
       after("super().__init__(V, N, D, H, D_F, L)",
             'self.blocks = nn.ModuleList([_block(D, H, D_F, activation="relu") for _ in range(L)])'))


@wrong("batch_first=True was forgotten: each position attends to the earlier texts of the batch", kind="shape")
class BatchSecond(_Base):
    def __init__(self, V, N, D, H, D_F, L):
        super().__init__(V, N, D, H, D_F, L)
        self.blocks = nn.ModuleList([_block(D, H, D_F, batch_first=False) for _ in range(L)])

    def mask(self, X):
        return super().mask(X.transpose(0, 1))


change(_PlainInit, "FourTimes", "the hidden width of the MLPs is 4 D, whatever D_F is", "module",
       (".__init__(V, N, D, H, D_F, L)", ".__init__(V, N, D, H, 4 * D, L)"))
change(_Base.through, "OneBlockShort", "the last block is never called: a loop up to L − 1", "edge",
       ("block in self.blocks", "l in range(len(self.blocks) - 1)"), ("X = block", "X = self.blocks[l]"))
change(_Base.through, "ResidualTwice",
       "what a block makes is added to what it got, though the residual connections are inside of it", "concept",
       ("block(X, src_mask=mask)", "X + block(X, src_mask=mask)"))


@wrong("the blocks are an nn.TransformerEncoder: their weights are called blocks.layers.0 and so on", kind="module")
class Encoder(_Base):
    def __init__(self, V, N, D, H, D_F, L):
        super().__init__(V, N, D, H, D_F, L)
        self.blocks = nn.TransformerEncoder(_block(D, H, D_F), L, enable_nested_tensor=False)

    def through(self, X):
        return self.blocks(X, mask=self.mask(X))


# ------------------------------------------------------------------------------------- wrong: layout, gradients, interface


@wrong("view on tokens fails where they are no contiguous block", kind="layout")
class ByView(_Base):
    def embedded(self, tokens):
        B, n = tokens.shape
        return self.tokens(tokens.view(-1)).unflatten(0, (B, n)) + self.positions.weight[:n]


change(_Base.forward, "OneLine",
       "the texts of a batch are joined to one line: a text attends to those before it", "shape",
       before("return", "X = self.embedded(tokens)"),
       (".through(self.embedded(tokens))", ".through(X.flatten(0, 1)[None]).reshape(X.shape)"))
change(_Base.head, "Squeezed", "squeeze() on the logits: axes of size 1 disappear", "shape",
       ("return self.norm(X) @ self.tokens.weight.T", "return super().head(X).squeeze()"))


@wrong("forward works under no_grad: no gradient reaches any weight", kind="gradient")
class NoGradients(_Base):
    @torch.no_grad()
    def forward(self, tokens):
        return super().forward(tokens)


change(_Base.head, "AlwaysFloat32", "the logits are always float32", "interface",
       ("return self.norm(X) @ self.tokens.weight.T", "return super().head(X).float()"))


@wrong("logits and the last X come back as a pair", kind="interface")
class WithTheStream(_Base):
    def forward(self, tokens):
        X = self.through(self.embedded(tokens))
        return self.head(X), X


change(_PlainInit, "OtherOrder", "the arguments of __init__ stand in the order V, D, N, H, L, D_F", "interface",
       ("self, V, N, D, H, D_F, L", "self, V, D, N, H, L, D_F"))


@wrong("the tables are called wte and wpe, as in GPT-2's code", kind="module")
class OtherNames(nn.Module):
    def __init__(self, V, N, D, H, D_F, L):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, D), nn.Embedding(N, D)
        self.blocks = nn.ModuleList([_block(D, H, D_F) for _ in range(L)])
        self.norm = nn.LayerNorm(D)

    def forward(self, tokens):
        X = _Base.through(self, self.wte(tokens) + self.wpe.weight[: tokens.shape[1]])
        return self.norm(X) @ self.wte.weight.T

    mask = _Base.mask


change(OwnHead, "SharedLinear", "the head is an nn.Linear whose weight is the table itself: no further parameter, but "
       "a second name for it", "module",
       after("self.lm_head = nn.Linear(D, V, bias=False)", "self.lm_head.weight = self.tokens.weight"), verdict="open")
change(_PlainInit, "CopiedBlocks",
       "the blocks are deep copies of one: each has weights of its own, but all begin with the same numbers", "module",
       after("super().__init__(V, N, D, H, D_F, L)",
             "self.blocks = nn.ModuleList([copy.deepcopy(self.blocks[0]) for _ in range(L)])"), verdict="open")
change(_Base.through, "PartsByHand", "the parts of each block are called by hand, and the block itself never", "module",
       ("X = block(X, src_mask=mask)", """
        Z = block.norm1(X)
        X = X + block.self_attn(Z, Z, Z, attn_mask=mask, need_weights=False)[0]
        X = X + block.linear2(F.gelu(block.linear1(block.norm2(X))))"""), verdict="open")
change(_PlainInit, "OwnSeed", "__init__ sets torch's seed, so that every new model has the same weights", "module",
       before("super().__init__(V, N, D, H, D_F, L)", "torch.manual_seed(0)"), verdict="open")
