"""Answers to DecoderBlock (assignment 10)."""

import math

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong
from torch import nn


class _Block(nn.Module):
    """The layers, and the three sublayers as methods that a mistake may replace."""

    def __init__(self, D: int, H: int, D_F: int):
        super().__init__()
        self.D, self.H = D, H
        self.norm_1 = nn.LayerNorm(D)
        self.norm_2 = nn.LayerNorm(D)
        self.norm_3 = nn.LayerNorm(D)
        self.W_QKV = nn.Linear(D, 3 * D)
        self.W_O = nn.Linear(D, D)
        self.W_Q = nn.Linear(D, D)
        self.W_KV = nn.Linear(D, 2 * D)
        self.W_C = nn.Linear(D, D)
        self.W_in = nn.Linear(D, D_F)
        self.W_out = nn.Linear(D_F, D)

    def split(self, x):
        return x.unflatten(-1, (self.H, -1)).transpose(1, 2)

    def join(self, x):
        return x.transpose(1, 2).flatten(2)

    def softmax(self, scores, allowed):
        return scores.masked_fill(~allowed, float("-inf")).softmax(-1)

    def look(self, q, k, v, allowed):
        q, k, v = self.split(q), self.split(k), self.split(v)
        return self.join(self.softmax(q @ k.mT / math.sqrt(self.D // self.H), allowed) @ v)

    def tril(self, x):
        T = x.shape[1]
        return torch.ones(T, T, device=x.device).tril() > 0

    def own(self, x):
        q, k, v = self.W_QKV(x).chunk(3, -1)
        return self.W_O(self.look(q, k, v, self.tril(x)))

    def cross(self, x, memory, mask):
        k, v = self.W_KV(memory).chunk(2, -1)
        return self.W_C(self.look(self.W_Q(x), k, v, mask[:, None, None, :]))

    def mlp(self, x):
        return self.W_out(F.relu(self.W_in(x)))

    def forward(self, X, memory, mask):
        X = X + self.own(self.norm_1(X))
        X = X + self.cross(self.norm_2(X), memory, mask)
        return X + self.mlp(self.norm_3(X))


# ---------------------------------------------------------------- right


@right("Layer after layer, softmax with -inf")
class Straight(_Block):
    pass


@right("Fused attention, all layers made in a loop with add_module")
class FusedInALoop(nn.Module):
    def __init__(self, D: int, H: int, D_F: int):
        super().__init__()
        self.heads = H
        shapes = {"W_QKV": (D, 3 * D), "W_O": (D, D), "W_Q": (D, D), "W_KV": (D, 2 * D), "W_C": (D, D)}
        for name, shape in {**shapes, "W_in": (D, D_F), "W_out": (D_F, D)}.items():
            self.add_module(name, nn.Linear(*shape))
        for i in (1, 2, 3):
            self.add_module(f"norm_{i}", nn.LayerNorm(D))

    def attend(self, q, kv, **how):
        q, k, v = (x.unflatten(-1, (self.heads, -1)).movedim(-2, 1) for x in (q, *kv))
        return F.scaled_dot_product_attention(q, k, v, **how).movedim(1, -2).flatten(-2)

    def forward(self, X, memory, mask):
        B, T, D = X.shape
        q, *kv = self.W_QKV(self.norm_1(X)).split(D, -1)
        X = X + self.W_O(self.attend(q, kv, is_causal=True))
        words = mask.view(B, 1, 1, -1).expand(B, 1, T, mask.shape[1])
        X = X + self.W_C(self.attend(self.W_Q(self.norm_2(X)), self.W_KV(memory).split(D, -1), attn_mask=words))
        return X.add(self.W_out(self.W_in(self.norm_3(X)).clamp_min(0)))


@right("einsum, and masks that are added as finfo.min")
class AddedMasks(_Block):
    def look(self, q, k, v, allowed):
        q, k, v = (x.reshape(*x.shape[:2], self.H, -1) for x in (q, k, v))
        added = torch.zeros(allowed.shape, dtype=q.dtype, device=q.device)
        added = added.masked_fill(allowed.logical_not(), torch.finfo(q.dtype).min)
        scores = torch.einsum("bthd,bnhd->bhtn", q, k) * (self.D / self.H) ** -0.5
        return torch.einsum("bhtn,bnhd->bthd", F.softmax(scores + added, -1), v).flatten(-2)


@right("Position by position: each looks at the slice up to itself")
class SliceBySlice(_Block):
    def own(self, x):
        q, k, v = self.W_QKV(x).tensor_split(3, -1)
        all_allowed = torch.ones(1, 1, dtype=torch.bool, device=x.device)
        rows = [self.look(q[:, t : t + 1], k[:, : t + 1], v[:, : t + 1], all_allowed) for t in range(x.shape[1])]
        return self.W_O(torch.cat(rows, 1))


@right("Sentence by sentence: words are picked from the memory, so that there is no mask at all")
class SentenceBySentence(_Block):
    def cross(self, x, memory, mask):
        free = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=x.device)
        rows = []
        for b in range(len(x)):
            k, v = self.W_KV(memory[b : b + 1, mask[b]]).split(self.D, dim=2)
            rows.append(self.look(self.W_Q(x[b : b + 1]), k, v, free))
        return self.W_C(torch.cat(rows))


@right("Weights by exp and sum, the largest allowed score subtracted first")
class OwnSoftmax(_Block):
    def softmax(self, scores, allowed):
        scores = torch.where(allowed, scores, torch.finfo(scores.dtype).min)
        powers = torch.exp(scores - scores.max(-1, keepdim=True).values) * allowed
        return powers / powers.sum(-1, keepdim=True)


@right("Matrices of the layers used by F.linear, in pieces; heads as extra batch entries")
class Pieces(_Block):
    def fold(self, x):
        B, N, D = x.shape
        return x.view(B, N, self.H, D // self.H).permute(0, 2, 1, 3).reshape(B * self.H, N, -1)

    def bmm(self, q, k, v, hidden):
        B, T, D = q.shape
        scores = torch.baddbmm(hidden, self.fold(q), self.fold(k).transpose(1, 2), alpha=(D // self.H) ** -0.5)
        found = torch.bmm(torch.softmax(scores, 2), self.fold(v))
        return found.view(B, self.H, T, -1).permute(0, 2, 1, 3).reshape(B, T, D)

    def forward(self, X, memory, mask):
        parts = zip(self.W_QKV.weight.chunk(3), self.W_QKV.bias.chunk(3))
        T = X.shape[1]
        later = X.new_full((1, T, T), -math.inf).triu(1)
        normed = self.norm_1(X)
        X = X + self.W_O(self.bmm(*(F.linear(normed, W, b) for W, b in parts), later))
        parts = zip(self.W_KV.weight.chunk(2), self.W_KV.bias.chunk(2))
        padding = X.new_zeros(mask.shape).masked_fill(~mask, -math.inf).repeat_interleave(self.H, 0)[:, None]
        X = X + self.W_C(self.bmm(self.W_Q(self.norm_2(X)), *(F.linear(memory, W, b) for W, b in parts), padding))
        return X + self.mlp(self.norm_3(X))


@right("A list of sublayers that is gone through")
class ListOfSublayers(_Block):
    def forward(self, X, memory, mask):
        steps = [
            (self.norm_1, self.own),
            (self.norm_2, lambda x: self.cross(x, memory, mask)),
            (self.norm_3, nn.Sequential(self.W_in, nn.ReLU(), self.W_out)),
        ]
        for norm, step in steps:
            X = X + step(norm(X))
        return X


# Right, and not registered: answers below are changes of it.
class _PlainTril(_Block):
    def tril(self, x):
        return torch.ones(x.shape[1], x.shape[1], device=x.device).tril().bool()


# ---------------------------------------------------------------- wrong: masks


change(_PlainTril, "SeesLaterWords", "self-attention is not causal", "concept",
       ("ones(x.shape[1], x.shape[1], device=x.device).tril().bool()",
        "ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device)"))
change(_PlainTril, "Triu", "triu in the place of tril: each position sees itself and later ones", "concept",
       (".tril().bool()", ".triu().bool()"))
change(_PlainTril, "NotItself", "tril(-1): a position does not see itself, and the first sees nothing (NaN)", "concept",
       (".tril().bool()", ".tril(-1).bool()"))
change(_PlainTril, "OneAhead", "tril(1): each position sees one word ahead", "concept",
       (".tril().bool()", ".tril(1).bool()"))


# Right, and not registered: answers below are changes of it.
class _PlainCross(_Block):
    def cross(self, x, memory, mask):
        return super().cross(x, memory, mask)


change(_PlainCross, "NoPaddingMask", "the mask of the source is not used", "concept",
       (".cross(x, memory, mask)", ".cross(x, memory, torch.ones_like(mask))"))
change(_PlainCross, "MaskInverted", "the mask is taken for one that is True at padding", "concept",
       (".cross(x, memory, mask)", ".cross(x, memory, ~mask)"))
change(_Block.cross, "CausalCross", "the cross-attention gets a causal mask on top of the padding", "concept",
       before("k, v =", """
        T, N = x.shape[1], memory.shape[1]
        causal = torch.arange(N, device=x.device) <= torch.arange(T, device=x.device)[:, None]"""),
       ("mask[:, None, None, :]", "mask[:, None, None, :] & causal"))


@wrong("the cross-attention is causal, and padding is not hidden", kind="concept")
class CausalCrossWithoutPadding(_Block):
    def cross(self, x, memory, mask):
        k, v = self.W_KV(memory).split(self.D, -1)
        q, k, v = map(self.split, (self.W_Q(x), k, v))
        return self.W_C(self.join(F.scaled_dot_product_attention(q, k, v, is_causal=True)))


change(_Block.cross, "MaskBroadcast", "the mask [B, N] is broadcast as it is, against positions and words", "shape",
       ("mask[:, None, None, :]", "mask"))
change(_Block.cross, "MaskWithOneAxis",
       "the mask gets one axis only, [B, 1, N]: its batch lines up with the heads", "shape",
       ("mask[:, None, None, :]", "mask.unsqueeze(1)"))


@wrong("the mask goes to scaled_dot_product_attention as numbers, which are added to the scores", kind="concept")
class MaskAsNumbers(_Block):
    def cross(self, x, memory, mask):
        k, v = self.W_KV(memory).chunk(2, -1)
        q, k, v = map(self.split, (self.W_Q(x), k, v))
        return self.W_C(self.join(F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None].to(q.dtype))))


@wrong("padding is hidden after the softmax", kind="concept")
class HiddenAfterSoftmax(_Block):
    def cross(self, x, memory, mask):
        k, v = map(self.split, self.W_KV(memory).chunk(2, -1))
        weights = (self.split(self.W_Q(x)) @ k.mT / math.sqrt(self.D // self.H)).softmax(-1)
        return self.W_C(self.join((weights * mask[:, None, None, :]) @ v))


@wrong("keys and values at padding are set to 0, which still have weight", kind="concept")
class MemoryZeroedAtPadding(_Block):
    def cross(self, x, memory, mask):
        k, v = (self.W_KV(memory) * mask[..., None]).chunk(2, -1)
        return self.W_C(self.look(self.W_Q(x), k, v, torch.ones_like(mask)[:, None, None]))


change(_Block.softmax, "ScoresZero", "forbidden scores become 0 in both attentions", "concept",
       ('scores.masked_fill(~allowed, float("-inf"))', "torch.where(allowed, scores, 0.0)"))


@wrong("the mask is counted, and the first words are allowed: wrong where padding stands between words", kind="concept")
class MaskAsLengths(_Block):
    def cross(self, x, memory, mask):
        prefix = torch.arange(mask.shape[1], device=mask.device) < mask.sum(1, keepdim=True)
        return super().cross(x, memory, prefix)


change(_PlainCross, "MaskOfTheFirst", "every sentence gets the mask of the first", "concept",
       (".cross(x, memory, mask)", ".cross(x, memory, mask[:1])"))
change(_Block.softmax, "MinusTenThousand", "padding is hidden with -1e4 only, which large scores go beyond", "numerics",
       ('float("-inf")', "-1e4"))


# ---------------------------------------------------------------- wrong: who reads what


change(_Block.cross, "ReadsItself", "keys and values of the cross-attention come from the decoder itself", "concept",
       (".W_KV(memory)", ".W_KV(x)"))
change(_Block.cross, "RolesExchanged",
       "queries from the memory, keys and values from the decoder: roles exchanged", "concept",
       (".W_KV(memory)", ".W_KV(x)"), before("return", "free = torch.ones(1, 1, dtype=torch.bool, device=x.device)"),
       ("self.W_Q(x), k, v, mask[:, None, None, :]", "self.W_Q(memory), k, v, free"))
change(_PlainCross, "MemoryNormed", "the memory is normed with norm_2", "concept",
       (".cross(x, memory, mask)", ".cross(x, self.norm_2(memory), mask)"))


@wrong("cross-attention and self-attention both read the block's input, in parallel", kind="concept")
class Parallel(_Block):
    def forward(self, X, memory, mask):
        X = X + self.own(self.norm_1(X)) + self.cross(self.norm_2(X), memory, mask)
        return X + self.mlp(self.norm_3(X))


change(_Block.forward, "CrossFirst", "cross-attention first, self-attention second", "concept",
       before("X = X + self.own(self.norm_1(X))", "X = X + self.cross(self.norm_2(X), memory, mask)"),
       ("X = X + self.cross(self.norm_2(X), memory, mask)", ""))
change(_Block.forward, "CrossFirstWithNorms",
       "cross-attention first, with norm_1, then self-attention with norm_2", "concept",
       (".own(self.norm_1(X))", ".cross(self.norm_1(X), memory, mask)"),
       (".cross(self.norm_2(X), memory, mask)", ".own(self.norm_2(X))"))
change(_Block.forward, "WithoutCross", "no cross-attention at all", "concept",
       ("X = X + self.cross(self.norm_2(X), memory, mask)", ""))
change(_Block.forward, "WithoutMlp", "the MLP is missing", "concept",
       ("X = X + self.cross", "return X + self.cross"), ("return X + self.mlp(self.norm_3(X))", ""))
change(_Block.cross, "ValuesFirst", "keys and values are exchanged in W_KV", "concept",
       ("k, v = self.W_KV(memory).chunk(2, -1)", "v, k = self.W_KV(memory).chunk(2, -1)"))
change(_Block.cross, "KVPerHead", "W_KV is split along the heads first: key and value features alternate", "concept",
       (".chunk(2, -1)", ".unflatten(-1, (self.H, 2, -1)).unbind(3)"),
       ("self.W_Q(x), k, v", "self.W_Q(x), k.flatten(2), v.flatten(2)"))


# ---------------------------------------------------------------- wrong: wiring


@wrong("post-norm", kind="concept")
class PostNorm(_Block):
    def forward(self, X, memory, mask):
        X = self.norm_1(X + self.own(X))
        X = self.norm_2(X + self.cross(X, memory, mask))
        return self.norm_3(X + self.mlp(X))


@wrong("the normed X is what results are added to", kind="concept")
class AddsToNormed(_Block):
    def forward(self, X, memory, mask):
        X = self.norm_1(X)
        X = X + self.own(X)
        X = self.norm_2(X)
        X = X + self.cross(X, memory, mask)
        X = self.norm_3(X)
        return X + self.mlp(X)


change(_Block.forward, "NoResidualCross", "no residual around the cross-attention", "concept",
       ("X + self.cross", "self.cross"))
change(_Block.forward, "NoResidualOwn", "no residual around the self-attention", "concept",
       ("X + self.own", "self.own"))
change(_Block.forward, "NoResidualMlp", "no residual around the MLP", "concept",
       ("X + self.mlp", "self.mlp"))
change(_Block.forward, "ResidualFromTheInput", "the last residual comes from the block's input", "concept",
       ("X = X + self.own", "Y = X + self.own"),
       ("X = X + self.cross(self.norm_2(X), memory, mask)", "Y = Y + self.cross(self.norm_2(Y), memory, mask)"),
       (".norm_3(X)", ".norm_3(Y)"))
change(_Block.forward, "QueriesNotNormed", "queries of the cross-attention are not normed", "concept",
       ("self.norm_2(X)", "X"))
change(_Block.forward, "NormTwoTwice", "the MLP reads norm_2, norm_3 is not used", "concept",
       (".norm_3(X)", ".norm_2(X)"))


@wrong("a norm at the end too", kind="concept")
class NormAtTheEnd(_Block):
    def forward(self, X, memory, mask):
        return self.norm_3(super().forward(X, memory, mask))


change(_Block.mlp, "Gelu", "GELU, not ReLU", "concept",
       ("F.relu", "F.gelu"))
change(_Block.mlp, "LinearMlp", "no activation between the two layers of the MLP", "concept",
       ("F.relu(self.W_in(x))", "self.W_in(x)"))
change(_Block.mlp, "ReluAfter", "ReLU after the second layer, not between", "concept",
       ("self.W_out(F.relu(self.W_in(x)))", "F.relu(self.W_out(self.W_in(x)))"))


@wrong("W_O and W_C have changed places", kind="concept")
class OutputsExchanged(_Block):
    def own(self, x):
        q, k, v = self.W_QKV(x).chunk(3, -1)
        return self.W_C(self.look(q, k, v, self.tril(x)))

    def cross(self, x, memory, mask):
        k, v = self.W_KV(memory).chunk(2, -1)
        return self.W_O(self.look(self.W_Q(x), k, v, mask[:, None, None, :]))


change(_Block.cross, "WithoutWC", "the cross-attention has no output projection", "concept",
       ("return self.W_C(self.look(self.W_Q(x), k, v, mask[:, None, None, :]))",
        "return self.look(self.W_Q(x), k, v, mask[:, None, None, :])"))


# ---------------------------------------------------------------- wrong: heads


change(_Block.look, "DividedByRootD", "scores are divided by sqrt(D)", "concept",
       (".D // self.H", ".D"))
change(_Block.look, "Unscaled", "scores are not scaled", "concept",
       ("k.mT / math.sqrt(self.D // self.H)", "k.mT"))


@wrong("one head of width D, whatever H is", kind="concept")
class OneHead(_Block):
    def __init__(self, D: int, H: int, D_F: int):
        super().__init__(D, H, D_F)
        self.H = 1


@wrong("one head in the cross-attention only", kind="concept")
class OneHeadInCross(_Block):
    def cross(self, x, memory, mask):
        k, v = self.W_KV(memory).chunk(2, -1)
        scores = (self.W_Q(x) @ k.mT / math.sqrt(self.D)).masked_fill(~mask[:, None], -math.inf)
        return self.W_C(scores.softmax(-1) @ v)


@wrong("heads are split by a view to [B, H, N, d] without a transpose", kind="concept")
class ViewWithoutTranspose(_Block):
    def split(self, x):
        return x.reshape(x.shape[0], self.H, x.shape[1], -1)


change(_Block.join, "JoinWithoutTranspose", "heads are joined without the transpose", "concept",
       ("x.transpose(1, 2).flatten(2)", "x.reshape(x.shape[0], x.shape[2], -1)"))
change(_Block.softmax, "SoftmaxOverQueries", "softmax over the queries", "concept",
       ('float("-inf")', "torch.finfo(scores.dtype).min"), ("softmax(-1)", "softmax(-2)"))


# ---------------------------------------------------------------- wrong: modules and the rest


@wrong("W_KV is two layers of their own", kind="module")
class TwoLayersForKV(_Block):
    def __init__(self, D: int, H: int, D_F: int):
        super().__init__(D, H, D_F)
        del self.W_KV
        self.W_K, self.W_V = nn.Linear(D, D), nn.Linear(D, D)

    def cross(self, x, memory, mask):
        return self.W_C(self.look(self.W_Q(x), self.W_K(memory), self.W_V(memory), mask[:, None, None, :]))


@wrong("no biases", kind="module")
class WithoutBiases(_Block):
    def __init__(self, D: int, H: int, D_F: int):
        super().__init__(D, H, D_F)
        self.W_QKV, self.W_O = nn.Linear(D, 3 * D, bias=False), nn.Linear(D, D, bias=False)
        self.W_Q, self.W_KV = nn.Linear(D, D, bias=False), nn.Linear(D, 2 * D, bias=False)


change(_Block.mlp, "WithDropout", "dropout of 0.1", "process",
       ("return self.W_out(F.relu(self.W_in(x)))", "return F.dropout(super().mlp(x), 0.1, self.training)"))


@wrong("nn.MultiheadAttention does the cross-attention", kind="process")
class ReadyMade(_Block):
    def cross(self, x, memory, mask):
        layer = nn.MultiheadAttention(self.D, self.H, batch_first=True, device=x.device, dtype=x.dtype)
        W, b = self.W_KV.weight, self.W_KV.bias
        with torch.no_grad():
            layer.in_proj_weight.copy_(torch.cat([self.W_Q.weight, W]))
            layer.in_proj_bias.copy_(torch.cat([self.W_Q.bias, b]))
            layer.out_proj.weight.copy_(self.W_C.weight)
            layer.out_proj.bias.copy_(self.W_C.bias)
        return layer(x, memory, memory, key_padding_mask=~mask, need_weights=False)[0]


@wrong("X is changed in place", kind="interface")
class InPlace(_Block):
    def forward(self, X, memory, mask):
        X.data.add_(self.own(self.norm_1(X)))
        X.data.add_(self.cross(self.norm_2(X), memory, mask))
        return X + self.mlp(self.norm_3(X))


change(_PlainCross, "MemoryDetached", "the memory is detached", "gradient",
       (".cross(x, memory, mask)", ".cross(x, memory.detach(), mask)"))


@wrong("exp without subtracting the largest score", kind="numerics")
class ExpOverflows(_Block):
    def softmax(self, scores, allowed):
        powers = scores.exp() * allowed
        return powers / powers.sum(-1, keepdim=True)


@wrong("the causal mask has a fixed size of 64", kind="edge")
class SixtyFour(_Block):
    def tril(self, x):
        whole = torch.ones(64, 64, device=x.device).tril().bool()
        return whole[: x.shape[1], : x.shape[1]]


@wrong("returns the weights of the cross-attention too", kind="interface")
class ReturnsTwo(_Block):
    def forward(self, X, memory, mask):
        return super().forward(X, memory, mask), mask


change(_Block.softmax, "MinusBillion", "padding is hidden with -1e9", "numerics",
       ('float("-inf")', "-1e9"), verdict="open")
