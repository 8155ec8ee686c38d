"""Test answers for TransformerBlock (assignment 09): right ones in unusual styles, wrong ones with what is wrong."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import after, before, change, right, wrong


class _Base(nn.Module):
    """The layers as the text asks for them, and a right attention, MLP and forward, of which answers change parts."""

    def __init__(self, D, H, D_F, norm_first):
        super().__init__()
        self.H, self.norm_first = H, norm_first
        self.norm_1, self.norm_2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.W_QKV, self.W_O = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.W_in, self.W_out = nn.Linear(D, D_F), nn.Linear(D_F, D)

    def _heads(self, Z):
        """Queries, keys and values, each [B, H, N, D/H]."""
        return [part.unflatten(-1, (self.H, -1)).transpose(1, 2) for part in self.W_QKV(Z).chunk(3, dim=-1)]

    def _scores(self, Q, K):
        return Q @ K.mT / math.sqrt(Q.shape[-1])

    def _weights(self, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(1), float("-inf"))
        return scores.softmax(-1)

    def _attention(self, Z, mask):
        Q, K, V = self._heads(Z)
        Y = self._weights(self._scores(Q, K), mask) @ V
        return self.W_O(Y.transpose(1, 2).flatten(2))

    def _mlp(self, Z):
        return self.W_out(F.gelu(self.W_in(Z)))

    def forward(self, X, mask=None):
        if self.norm_first:
            X = X + self._attention(self.norm_1(X), mask)
            return X + self._mlp(self.norm_2(X))
        X = self.norm_1(X + self._attention(X, mask))
        return self.norm_2(X + self._mlp(X))


# -------------------------------------------------------------------------------------------------------------- right


@right("scaled_dot_product_attention, everything in forward")
class Fused(nn.Module):
    def __init__(self, D: int, H: int, D_F: int, norm_first: bool):
        super().__init__()
        self.H = H
        self.norm_first = norm_first
        self.norm_1 = nn.LayerNorm(D)
        self.W_QKV = nn.Linear(D, 3 * D)
        self.W_O = nn.Linear(D, D)
        self.norm_2 = nn.LayerNorm(D)
        self.W_in = nn.Linear(D, D_F)
        self.W_out = nn.Linear(D_F, D)

    def forward(self, X, mask=None):
        B, N, D = X.shape
        Z = self.norm_1(X) if self.norm_first else X
        Q, K, V = self.W_QKV(Z).view(B, N, 3, self.H, D // self.H).permute(2, 0, 3, 1, 4)
        A = F.scaled_dot_product_attention(Q, K, V, attn_mask=None if mask is None else mask[:, None])
        X = X + self.W_O(A.transpose(1, 2).reshape(B, N, D))
        if not self.norm_first:
            X = self.norm_1(X)
        Z = self.norm_2(X) if self.norm_first else X
        X = X + self.W_out(F.gelu(self.W_in(Z)))
        return X if self.norm_first else self.norm_2(X)


@right("a loop over the heads, each with its slices of the weights, the bias of W_O added once")
class LoopOverHeads(_Base):
    def _attention(self, Z, mask):
        D = Z.shape[-1]
        width = D // self.H
        Y = self.W_O.bias
        for head in range(self.H):
            own = slice(head * width, (head + 1) * width)
            q, k, v = (
                F.linear(Z, self.W_QKV.weight[third * D : (third + 1) * D][own],
                         self.W_QKV.bias[third * D : (third + 1) * D][own])
                for third in range(3)
            )
            scores = torch.bmm(q, k.transpose(-1, -2)) * width**-0.5
            if mask is not None:
                scores = torch.where(mask, scores, -torch.inf)
            Y = Y + F.linear(torch.bmm(torch.softmax(scores, dim=-1), v), self.W_O.weight[:, own])
        return Y


@right("einsum for scores, weighted sums and the joining of the heads")
class Einsum(_Base):
    def _attention(self, Z, mask):
        B, N, D = Z.shape
        Q, K, V = self.W_QKV(Z).reshape(B, N, 3, self.H, -1).unbind(2)
        scores = torch.einsum("bqhd,bkhd->bhqk", Q * (D / self.H) ** -0.5, K)
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not()[:, None, :, :], -math.inf)
        A = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(dim=3), V)
        return torch.einsum("bqhd,ohd->bqo", A, self.W_O.weight.reshape(D, self.H, -1)) + self.W_O.bias


@right("the wiring as one function of the stream, a norm and a sublayer, chosen in the constructor")
class WiringChosenOnce(_Base):
    def __init__(self, D, H, D_F, norm_first):
        super().__init__(D, H, D_F, norm_first)
        self._around = self._pre if norm_first else self._post

    @staticmethod
    def _pre(X, norm, sublayer):
        return X + sublayer(norm(X))

    @staticmethod
    def _post(X, norm, sublayer):
        return norm(X + sublayer(X))

    def forward(self, X, mask=None):
        X_1 = self._around(X, self.norm_1, lambda Z: self._attention(Z, mask))
        return self._around(X_1, self.norm_2, self._mlp)


@right("softmax by hand: the largest allowed score is subtracted, exp, divided by the sum")
class SoftmaxByHand(_Base):
    def _weights(self, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(-3) == False, -torch.inf)  # noqa: E712
        powers = torch.exp(scores - scores.detach().amax(-1, keepdim=True))
        return powers / powers.sum(-1, keepdim=True)


@right("one sequence of the batch at a time, stacked at the end")
class SequenceBySequence(_Base):
    def _attention(self, Z, mask):
        results = []
        for b, sequence in enumerate(self.W_QKV(Z)):
            Q, K, V = (p.reshape(len(sequence), self.H, -1).movedim(1, 0) for p in sequence.tensor_split(3, dim=1))
            allowed = None if mask is None else mask[b]
            results.append(F.scaled_dot_product_attention(Q, K, V, allowed).movedim(0, 1).flatten(1))
        return self.W_O(torch.stack(results))


@right("batch and heads folded into one axis, bmm, the mask repeated for the heads")
class FoldedHeads(_Base):
    def _attention(self, Z, mask):
        B, N, D = Z.shape
        Q, K, V = (p.reshape(B * self.H, N, D // self.H) for p in self._heads(Z))
        scores = torch.bmm(Q, K.mT).div((D // self.H) ** 0.5)
        if mask is not None:
            scores = scores.masked_fill(~mask.repeat_interleave(self.H, dim=0), -torch.inf)
        A = torch.bmm(F.softmax(scores, dim=-1), V)
        return self.W_O(A.reshape(B, self.H, N, -1).permute(0, 2, 1, 3).reshape(B, N, D))


@right("layer norms and layers by the functions of F with the modules' own weights, and everything in one method")
class Functional(_Base):
    def _norm(self, X, layer):
        return F.layer_norm(X, layer.normalized_shape, layer.weight, layer.bias, layer.eps)

    def forward(self, X, mask=None):
        stream = X
        for norm, sublayer in ((self.norm_1, lambda Z: self._attention(Z, mask)), (self.norm_2, self._mlp)):
            if self.norm_first:
                stream = stream + sublayer(self._norm(stream, norm))
            else:
                stream = self._norm(stream + sublayer(stream), norm)
        return stream


@right("one query at a time")
class QueryByQuery(_Base):
    def _attention(self, Z, mask):
        Q, K, V = self._heads(Z)
        rows = []
        for n in range(Z.shape[1]):
            scores = (Q[:, :, n : n + 1] * K).sum(-1) / (K.shape[-1] ** 0.5)
            if mask is not None:
                scores = torch.where(mask[:, n, None], scores, torch.full_like(scores, -math.inf))
            rows.append((torch.softmax(scores, -1).unsqueeze(-1) * V).sum(2).flatten(1))
        return self.W_O(torch.stack(rows, dim=1))


@right("keys in pieces of 32 with a running maximum, numerator and denominator")
class Online(_Base):
    def _attention(self, Z, mask):
        Q, K, V = self._heads(Z)
        top = Q.new_full((*Q.shape[:-1], 1), -math.inf)
        above, below = torch.zeros_like(Q), torch.zeros_like(Q[..., :1])
        for start in range(0, K.shape[2], 32):
            k, v = K[:, :, start : start + 32], V[:, :, start : start + 32]
            scores = self._scores(Q, k)
            if mask is not None:
                scores = scores.masked_fill(~mask[:, None, :, start : start + 32], -math.inf)
            new_top = torch.maximum(top, scores.detach().amax(-1, keepdim=True))
            base = new_top.masked_fill(new_top == -math.inf, 0)
            factor, powers = torch.exp(top - base), torch.exp(scores - base)
            above, below = above * factor + powers @ v, below * factor + powers.sum(-1, keepdim=True)
            top = new_top
        return self.W_O((above / below).transpose(1, 2).flatten(-2))


@right("softmax as exp of the scores less their logsumexp; the MLP with nn.GELU and nn.Sequential-like calls")
class LogSumExp(_Base):
    def __init__(self, D, H, D_F, norm_first):
        super().__init__(D, H, D_F, norm_first)
        self.act = nn.GELU()

    def _weights(self, scores, mask):
        if mask is not None:
            scores = torch.where(mask[:, None], scores, scores.new_tensor(-math.inf))
        return (scores - scores.logsumexp(-1, keepdim=True)).exp()

    def _mlp(self, Z):
        for layer in (self.W_in, self.act, self.W_out):
            Z = layer(Z)
        return Z


@right("nn.Identity in the places where a wiring has no norm, so that both wirings are one line")
class Identities(_Base):
    def forward(self, X, mask=None):
        same = nn.Identity()
        before_1, before_2, after_1, after_2 = (
            (self.norm_1, self.norm_2, same, same) if self.norm_first else (same, same, self.norm_1, self.norm_2)
        )
        X_1 = after_1(X + self._attention(before_1(X), mask))
        return after_2(torch.add(self._mlp(before_2(X_1)), X_1))


@right("features in front of positions: [B, H, D/H, N], scores as keys by queries and softmax over the keys' axis")
class FeaturesFirst(_Base):
    def _attention(self, Z, mask):
        B, N, D = Z.shape
        Q, K, V = self.W_QKV(Z).mT.reshape(B, 3, self.H, D // self.H, N).unbind(1)
        scores = K.mT @ (Q / (D // self.H) ** 0.5)
        if mask is not None:
            scores = scores.masked_fill(~mask.mT.unsqueeze(1), -math.inf)
        return self.W_O((V @ scores.softmax(dim=-2)).reshape(B, D, N).mT)


@right("a mask of ones in the place of None, GELU as x times the normal distribution function")
class MaskOfOnes(_Base):
    def forward(self, X, mask=None):
        if mask is None:
            mask = torch.ones((), dtype=torch.bool, device=X.device).expand(len(X), X.shape[1], X.shape[1])
        return super().forward(X, mask)

    def _mlp(self, Z):
        hidden = self.W_in(Z)
        return self.W_out(hidden * torch.special.erfc(-hidden / math.sqrt(2)) / 2)


# ----------------------------------------------------------------------------------------------------- wrong: concept


change(_Base.forward, "WiringsExchanged",
       "the wirings are exchanged: norm_first=True gives post-norm and False pre-norm", "concept",
       ("self.norm_first", "not self.norm_first"))


# Right, and not registered: answers below are changes of it.
class _PlainForward(_Base):
    def forward(self, X, mask=None):
        return super().forward(X, mask)


change(_PlainForward, "AlwaysPost", "norm_first is ignored: the block is always post-norm", "concept",
       ("return super().forward(X, mask)", """
        X = self.norm_1(X + self._attention(X, mask))
        return self.norm_2(X + self._mlp(X))"""))
change(_PlainForward, "AlwaysPre", "norm_first is ignored: the block is always pre-norm", "concept",
       ("return super().forward(X, mask)", """
        X = X + self._attention(self.norm_1(X), mask)
        return X + self._mlp(self.norm_2(X))"""))


@wrong("pre-norm: both sublayers are added to what they read, the normalised stream, instead of to the stream",
       kind="concept")
class NormOnTheStream(_Base):
    def forward(self, X, mask=None):
        if not self.norm_first:
            return super().forward(X, mask)
        Z = self.norm_1(X)
        X = Z + self._attention(Z, mask)
        Z = self.norm_2(X)
        return Z + self._mlp(Z)


change(NormOnTheStream, "SecondNormOnTheStream",
       "pre-norm: the MLP's result is added to norm_2(X_1) instead of X_1", "concept",
       ("""
        Z = self.norm_1(X)
        X = Z + self._attention(Z, mask)""", "X = X + self._attention(self.norm_1(X), mask)"))


@wrong("post-norm: the norms stand on the sublayers' results before they are added, X + norm(sublayer(X)), instead of "
       "on the sums", kind="concept")
class NormInsideBranch(_Base):
    def forward(self, X, mask=None):
        if self.norm_first:
            return super().forward(X, mask)
        X = X + self.norm_1(self._attention(X, mask))
        return X + self.norm_2(self._mlp(X))


@wrong("post-norm: the MLP's result is added to the sum X + attention(X) before norm_1, while it reads X_1 after it",
       kind="concept")
class ResidualBeforeNorm(_Base):
    def forward(self, X, mask=None):
        if self.norm_first:
            return super().forward(X, mask)
        X = X + self._attention(X, mask)
        return self.norm_2(X + self._mlp(self.norm_1(X)))


@wrong("norm_1 and norm_2 are exchanged in both wirings", kind="concept")
class NormsExchanged(_Base):
    def forward(self, X, mask=None):
        if self.norm_first:
            X = X + self._attention(self.norm_2(X), mask)
            return X + self._mlp(self.norm_1(X))
        X = self.norm_2(X + self._attention(X, mask))
        return self.norm_1(X + self._mlp(X))


change(_Base.forward, "FirstNormTwice", "norm_1 is used in both places in both wirings, and norm_2 never", "concept",
       (".norm_2", ".norm_1", 2))


@wrong("pre-norm: the sublayers stand side by side, the MLP reads norm_2(X) instead of norm_2(X_1)", kind="concept")
class Parallel(_Base):
    def forward(self, X, mask=None):
        if not self.norm_first:
            return super().forward(X, mask)
        return X + self._attention(self.norm_1(X), mask) + self._mlp(self.norm_2(X))


@wrong("both wirings: the MLP's result is added to the block's input X instead of X_1", kind="concept")
class ResidualFromInput(_Base):
    def forward(self, X, mask=None):
        if self.norm_first:
            X_1 = X + self._attention(self.norm_1(X), mask)
            return X + self._mlp(self.norm_2(X_1))
        X_1 = self.norm_1(X + self._attention(X, mask))
        return self.norm_2(X + self._mlp(X_1))


@wrong("both wirings: the residual connection around the MLP is missing", kind="concept")
class NoResidualAroundMLP(_Base):
    def forward(self, X, mask=None):
        if self.norm_first:
            return self._mlp(self.norm_2(X + self._attention(self.norm_1(X), mask)))
        return self.norm_2(self._mlp(self.norm_1(X + self._attention(X, mask))))


change(_Base.forward, "NoResidualAroundAttention",
       "both wirings: the residual connection around the attention is missing", "concept",
       ("X = X +", "X ="), ("X + self._attention(X, mask)", "self._attention(X, mask)"))
change(_PlainForward, "FinalNorm",
       "pre-norm: a third norm (norm_2 once more) stands on the stream at the end", "concept",
       ("return super().forward(X, mask)", """
        X = super().forward(X, mask)
        return self.norm_2(X) if self.norm_first else X"""))


@wrong("pre-norm: norm_1 acts on the queries alone; keys and values are made from X without it", kind="concept")
class NormOfQueriesOnly(_Base):
    def _attention(self, Z, mask, X=None):
        Q, _, _ = self._heads(Z)
        _, K, V = self._heads(Z if X is None else X)
        Y = self._weights(self._scores(Q, K), mask) @ V
        return self.W_O(Y.transpose(1, 2).flatten(2))

    def forward(self, X, mask=None):
        if not self.norm_first:
            return super().forward(X, mask)
        X_1 = X + self._attention(self.norm_1(X), mask, X)
        return X_1 + self._mlp(self.norm_2(X_1))


change(_Base._scores, "ScaledByD", "the scores are divided by the root of D instead of D/H", "concept",
       ("Q.shape[-1]", "Q.shape[-1] * self.H"))
change(_Base._scores, "Unscaled", "the scores are not divided at all", "concept",
       ("K.mT / math.sqrt(Q.shape[-1])", "K.mT"))
change(_Base._attention, "ScaledTwice",
       "the queries are divided by the root of D/H, and scaled_dot_product_attention divides once more", "concept",
       ("Y = self._weights(self._scores(Q, K), mask) @ V", """
        mask = None if mask is None else mask.unsqueeze(1)
        Y = F.scaled_dot_product_attention(Q / math.sqrt(Q.shape[-1]), K, V, mask)"""))
change(_Base._weights, "MaskInverted", "the mask has the opposite polarity: keys with True are forbidden", "concept",
       ('~mask.unsqueeze(1), float("-inf")', "mask.unsqueeze(1), torch.finfo(scores.dtype).min"))


@wrong("the mask is accepted and ignored", kind="concept")
class MaskIgnored(_Base):
    def _weights(self, scores, mask):
        return scores.softmax(-1)


change(_PlainForward, "CausalWithoutMask",
       "without a mask the attention is causal instead of open to all keys", "concept",
       before("return", """
        if mask is None:
            N = X.shape[1]
            mask = torch.ones(N, N, dtype=torch.bool, device=X.device).tril().expand(X.shape[0], N, N)"""))
change(_Base._weights, "MaskTransposed",
       "the mask is transposed: its rows are taken for keys and its columns for queries", "concept",
       ('~mask.unsqueeze(1), float("-inf")', "~mask.mT.unsqueeze(1), torch.finfo(scores.dtype).min"))


@wrong("each token may always attend to itself, also where the mask forbids it", kind="concept")
class SelfAlwaysAllowed(_Base):
    def _weights(self, scores, mask):
        if mask is not None:
            mask = mask | torch.eye(mask.shape[-1], dtype=torch.bool, device=mask.device)
        return super()._weights(scores, mask)


@wrong("a mask is combined with a causal one, so that allowed later keys are forbidden", kind="concept")
class CausalBesideMask(_Base):
    def _weights(self, scores, mask):
        if mask is not None:
            mask = mask.tril()
        return scores.masked_fill(~mask.unsqueeze(1), torch.finfo(scores.dtype).min).softmax(-1) if (
            mask is not None) else scores.softmax(-1)


change(_Base._weights, "SoftmaxOverQueries", "the softmax runs over the queries instead of the keys", "concept",
       ('float("-inf")', "torch.finfo(scores.dtype).min"), (".softmax(-1)", ".softmax(-2)"))


@wrong("the mask multiplies the weights after the softmax over all keys, and they are not normalised again",
       kind="concept")
class MaskAfterSoftmax(_Base):
    def _weights(self, scores, mask):
        weights = scores.softmax(-1)
        return weights if mask is None else weights * mask.unsqueeze(1)


change(_Base._weights, "MaskedWithZero",
       "forbidden scores are set to 0 before the softmax instead of minus infinity", "concept",
       ('float("-inf")', "0"))


@wrong("the thirds of W_QKV are taken as keys, queries, values instead of queries, keys, values", kind="concept")
class KeysFirst(_Base):
    def _heads(self, Z):
        K, Q, V = super()._heads(Z)
        return Q, K, V


@wrong("the columns of W_QKV are taken head by head, each with its queries, keys and values side by side, instead of "
       "three thirds", kind="concept")
class HeadByHead(_Base):
    def _heads(self, Z):
        B, N, D = Z.shape
        return self.W_QKV(Z).reshape(B, N, self.H, 3, D // self.H).permute(3, 0, 2, 1, 4).unbind(0)


@wrong("a head owns every H-th column of each third instead of D/H columns side by side", kind="concept")
class EveryHthColumn(_Base):
    def _heads(self, Z):
        return [part.unflatten(-1, (-1, self.H)).permute(0, 3, 1, 2) for part in self.W_QKV(Z).chunk(3, dim=-1)]


change(_Base._attention, "JoinedWithoutTranspose",
       "[B, H, N, D/H] is reshaped to [B, N, D] without moving the heads back behind the positions", "concept",
       ("Y.transpose(1, 2).flatten(2)", "Y.reshape(Z.shape)"))


@wrong("[B, N, D] is reshaped directly to [B, H, N, D/H] without first cutting the last axis and exchanging two axes; "
       "the way back is the same", kind="concept")
class CutWithoutTranspose(_Base):
    def _heads(self, Z):
        B, N, D = Z.shape
        return [part.reshape(B, self.H, N, D // self.H) for part in self.W_QKV(Z).chunk(3, dim=-1)]

    def _attention(self, Z, mask):
        Q, K, V = self._heads(Z)
        return self.W_O((self._weights(self._scores(Q, K), mask) @ V).reshape(Z.shape))


@wrong("W_O is never applied: the joined heads are added as they are", kind="concept")
class WithoutOutputProjection(_Base):
    def _attention(self, Z, mask):
        Q, K, V = self._heads(Z)
        return (self._weights(self._scores(Q, K), mask) @ V).transpose(1, 2).flatten(2)


change(_Base._mlp, "TanhGelu", "the GELU is its approximation by tanh instead of the exact one", "concept",
       ("self.W_in(Z)", 'self.W_in(Z), approximate="tanh"'))
change(_Base._mlp, "Relu", "ReLU in the place of GELU", "concept",
       ("F.gelu", "F.relu"))
change(_Base._mlp, "LinearMLP", "the MLP has no activation function", "concept",
       ("F.gelu(self.W_in(Z))", "self.W_in(Z)"))
change(_Base._mlp, "SecondGelu", "a second GELU acts on the result of W_out", "concept",
       ("self.W_out(F.gelu(self.W_in(Z)))", "F.gelu(self.W_out(F.gelu(self.W_in(Z))))"))


# Right, and not registered: answers below are changes of it.
class _PlainInit(_Base):
    def __init__(self, D, H, D_F, norm_first):
        super().__init__(D, H, D_F, norm_first)


change(_PlainInit, "OneHead", "H is ignored: there is one head of width D, with the scale of that width", "concept",
       (".__init__(D, H, D_F, norm_first)", ".__init__(D, 1, D_F, norm_first)"))


@wrong("attention runs over the sequences of the batch at each position instead of over the positions of each "
       "sequence, and a mask is ignored", kind="concept")
class AttentionOverBatch(_Base):
    def _attention(self, Z, mask):
        return super()._attention(Z.transpose(0, 1), None).transpose(0, 1)


change(_Base._weights, "SoftmaxOverHeads", "the softmax runs over the heads instead of the keys", "concept",
       ('float("-inf")', "torch.finfo(scores.dtype).min"), (".softmax(-1)", ".softmax(1)"))
change(KeysFirst, "KeysAsValues",
       "the weighted sums are of the keys instead of the values, so the third third of W_QKV is unused", "concept",
       ("K, Q, V", "Q, K, _"), ("Q, K, V", "Q, K, K"))


# ------------------------------------------------------------------------------------------------ wrong: two mistakes


@wrong("two mistakes: the wirings are exchanged, and the scores are divided by the root of D instead of D/H",
       kind="concept")
class ExchangedAndScaledByD(_Base):
    def __init__(self, D, H, D_F, norm_first):
        super().__init__(D, H, D_F, not norm_first)

    def _scores(self, Q, K):
        return Q @ K.mT / math.sqrt(Q.shape[-1] * self.H)


@wrong("two mistakes: the GELU is the approximation by tanh, and the pre-norm MLP is added to norm_2(X_1) instead of "
       "X_1", kind="concept")
class TanhAndNormOnTheStream(_Base):
    def _mlp(self, Z):
        return self.W_out(F.gelu(self.W_in(Z), approximate="tanh"))

    def forward(self, X, mask=None):
        if not self.norm_first:
            return super().forward(X, mask)
        Z = self.norm_2(X + self._attention(self.norm_1(X), mask))
        return Z + self._mlp(Z)


change(_Base._weights, "InvertedAndFinite", "two mistakes: the mask has the opposite polarity, and it is filled with "
       "-1e4 instead of minus infinity", "concept",
       ('~mask.unsqueeze(1), float("-inf")', "mask.unsqueeze(1), -1e4"))
change(_Base.forward, "FirstNormTwiceAndView", "two mistakes: norm_1 stands in both places (norm_2 is unused), and "
       "X.view(B * N, D) fails for inputs that are no contiguous block", "concept",
       before("if", """
        B, N, D = X.shape
        X = X.view(B * N, D).view(B, N, D)"""),
       (".norm_2(X)", ".norm_1(X)"), (".norm_2(X + self._mlp(X))", ".norm_1(X + self._mlp(X))"))


@wrong("two mistakes: the heads are not moved back behind the positions before they are joined, and W_O has no bias",
       kind="concept")
class JoinedWronglyWithoutBias(_Base):
    def __init__(self, D, H, D_F, norm_first):
        super().__init__(D, H, D_F, norm_first)
        self.W_O = nn.Linear(D, D, bias=False)

    def _attention(self, Z, mask):
        Q, K, V = self._heads(Z)
        return self.W_O((self._weights(self._scores(Q, K), mask) @ V).reshape(Z.shape))


@wrong("two mistakes: the residual connection around the MLP is missing, and the attention weights are detached",
       kind="concept")
class NoResidualAndDetached(_Base):
    def _weights(self, scores, mask):
        return super()._weights(scores, mask).detach()

    def forward(self, X, mask=None):
        if self.norm_first:
            return self._mlp(self.norm_2(X + self._attention(self.norm_1(X), mask)))
        return self.norm_2(self._mlp(self.norm_1(X + self._attention(X, mask))))


# ------------------------------------------------------------------------------------------------------ wrong: module


change(_PlainInit, "NoBiasInQKV", "W_QKV has no bias", "module",
       after("super().__init__(D, H, D_F, norm_first)", "self.W_QKV = nn.Linear(D, 3 * D, bias=False)"))


@wrong("three layers W_Q, W_K and W_V in the place of the one layer W_QKV", kind="module")
class ThreeProjections(_Base):
    def __init__(self, D, H, D_F, norm_first):
        super().__init__(D, H, D_F, norm_first)
        del self.W_QKV
        self.W_Q, self.W_K, self.W_V = nn.Linear(D, D), nn.Linear(D, D), nn.Linear(D, D)

    def _heads(self, Z):
        return [p(Z).unflatten(-1, (self.H, -1)).transpose(1, 2) for p in (self.W_Q, self.W_K, self.W_V)]


change(_PlainInit, "SharedNorm",
       "norm_2 is the same layer object as norm_1, so both norms share weight and bias", "module",
       after("super().__init__(D, H, D_F, norm_first)", "self.norm_2 = self.norm_1"))
change(_PlainInit, "OtherEps", "the norms have eps=1e-12 instead of nn.LayerNorm's default 1e-5", "module",
       after("super().__init__(D, H, D_F, norm_first)",
             "self.norm_1, self.norm_2 = nn.LayerNorm(D, eps=1e-12), nn.LayerNorm(D, eps=1e-12)"))
change(_PlainInit, "NormsWithoutWeights", "the norms are without weight and bias (elementwise_affine=False)", "module",
       after("super().__init__(D, H, D_F, norm_first)", """
        self.norm_1 = nn.LayerNorm(D, elementwise_affine=False)
        self.norm_2 = nn.LayerNorm(D, elementwise_affine=False)"""))
change(_PlainInit, "RMSNorms", "the norms are nn.RMSNorm instead of nn.LayerNorm", "module",
       after("super().__init__(D, H, D_F, norm_first)",
             "self.norm_1, self.norm_2 = nn.RMSNorm(D, eps=1e-5), nn.RMSNorm(D, eps=1e-5)"))
change(_PlainInit, "NormBeginsAtZero", "norm_2 begins with weight 0, so that a new post-norm block returns zeros "
       "instead of normalised vectors; weights are injected, and no text asks how they begin", "module",
       after("super().__init__(D, H, D_F, norm_first)", "nn.init.zeros_(self.norm_2.weight)"), verdict="open")
change(_PlainInit, "OwnWidth", "D_F is ignored: the hidden width is 4 D", "module",
       (".__init__(D, H, D_F, norm_first)", ".__init__(D, H, 4 * D, norm_first)"))


@wrong("learned factors for both sublayers' results (LayerScale, first 1): parameters that the text does not have",
       kind="module")
class LayerScale(_Base):
    def __init__(self, D, H, D_F, norm_first):
        super().__init__(D, H, D_F, norm_first)
        self.scale_1, self.scale_2 = nn.Parameter(torch.ones(D)), nn.Parameter(torch.ones(D))

    def _attention(self, Z, mask):
        return self.scale_1 * super()._attention(Z, mask)

    def _mlp(self, Z):
        return self.scale_2 * super()._mlp(Z)


@wrong("dropout with probability 0.5 on the attention weights in training mode", kind="module")
class DropoutOnWeights(_Base):
    def _weights(self, scores, mask):
        return F.dropout(super()._weights(scores, mask), 0.5, self.training)


change(_Base._attention, "DropoutAlways",
       "scaled_dot_product_attention is given dropout_p=0.1 in both modes, so results are random", "module",
       ("Y = self._weights(self._scores(Q, K), mask) @ V",
        "Y = F.scaled_dot_product_attention(Q, K, V, None if mask is None else mask[:, None], dropout_p=0.1)"))


@wrong("in training mode the MLP's result is halved (a survival probability of 0.5), in eval mode it is not",
       kind="module")
class HalvedInTraining(_Base):
    def _mlp(self, Z):
        return super()._mlp(Z) * (0.5 if self.training else 1.0)


@wrong("the MLP's layers lie in an nn.Sequential called mlp, and there are no W_in and W_out", kind="module")
class MLPInSequential(_Base):
    def __init__(self, D, H, D_F, norm_first):
        super().__init__(D, H, D_F, norm_first)
        del self.W_in, self.W_out
        self.mlp = nn.Sequential(nn.Linear(D, D_F), nn.GELU(), nn.Linear(D_F, D))

    def _mlp(self, Z):
        return self.mlp(Z)


# ----------------------------------------------------------------------------------------------------- wrong: process


@wrong("attention is computed by nn.MultiheadAttention, which is not allowed", kind="process")
class ForbiddenAttention(_Base):
    def _attention(self, Z, mask):
        B, N, D = Z.shape
        layer = nn.MultiheadAttention(D, self.H, batch_first=True, device=Z.device, dtype=Z.dtype)
        weights = {
            "in_proj_weight": self.W_QKV.weight, "in_proj_bias": self.W_QKV.bias,
            "out_proj.weight": self.W_O.weight, "out_proj.bias": self.W_O.bias,
        }
        forbidden = None if mask is None else ~mask.repeat_interleave(self.H, dim=0)
        arguments = {"attn_mask": forbidden, "need_weights": False}
        return torch.func.functional_call(layer, weights, (Z, Z, Z), arguments)[0]


@wrong("the whole block is computed by nn.TransformerEncoderLayer, which is not allowed", kind="process")
class ForbiddenBlock(_Base):
    def forward(self, X, mask=None):
        layer = nn.TransformerEncoderLayer(
            X.shape[-1], self.H, self.W_in.out_features, dropout=0.0, activation="gelu", batch_first=True,
            norm_first=self.norm_first, device=X.device, dtype=X.dtype,
        )
        weights = {"self_attn.in_proj_weight": self.W_QKV.weight, "self_attn.in_proj_bias": self.W_QKV.bias}
        pairs = {"self_attn.out_proj": self.W_O, "linear1": self.W_in, "linear2": self.W_out,
                 "norm1": self.norm_1, "norm2": self.norm_2}
        for name, own in pairs.items():
            weights[f"{name}.weight"], weights[f"{name}.bias"] = own.weight, own.bias
        forbidden = None if mask is None else ~mask.repeat_interleave(self.H, dim=0)
        return torch.func.functional_call(layer, weights, (X, forbidden))


# ---------------------------------------------------------------------------------------------------- wrong: numerics


change(_Base._weights, "FiniteFill", "forbidden scores are set to -1e4 instead of minus infinity: where the allowed "
       "scores are far below that, the forbidden keys win", "numerics",
       ('float("-inf")', "-1e4"))
change(_Base._weights, "SmallPenalty", "20 is subtracted from forbidden scores instead of setting them to minus "
       "infinity, so that forbidden keys keep some weight", "numerics",
       ('scores.masked_fill(~mask.unsqueeze(1), float("-inf"))',
        "scores - 20.0 * (~mask.unsqueeze(1)).to(scores.dtype)"))


@wrong("softmax as exp over the sum of exp without subtracting the maximum: scores in the hundreds overflow",
       kind="numerics")
class SoftmaxWithoutMaximum(_Base):
    def _weights(self, scores, mask):
        powers = scores.exp()
        if mask is not None:
            powers = powers * mask.unsqueeze(1)
        return powers / powers.sum(-1, keepdim=True)


change(SoftmaxByHand, "MaximumOfAll", "the maximum that is subtracted in the softmax is that of the whole tensor of "
       "scores: rows with much smaller scores become 0/0", "numerics",
       (".masked_fill(mask.unsqueeze(-3) == False, -torch.inf)  # noqa: E712",
        ".masked_fill(~mask.unsqueeze(1), -math.inf)"),
       (".amax(-1, keepdim=True)", ".max()"))


@wrong("the maximum that is subtracted in the softmax includes forbidden keys: where one of these has by far the "
       "largest score, all allowed keys underflow to 0/0", kind="numerics")
class MaximumOfForbidden(_Base):
    def _weights(self, scores, mask):
        powers = torch.exp(scores - scores.detach().amax(-1, keepdim=True))
        if mask is not None:
            powers = powers.masked_fill(~mask.unsqueeze(1), 0)
        return powers / powers.sum(-1, keepdim=True)


change(_Base._scores, "ClampedScores", "scores are clamped to [-30, 30] before the softmax", "numerics",
       ("return Q @ K.mT / math.sqrt(Q.shape[-1])", "return super()._scores(Q, K).clamp(-30, 30)"))


@right("the softmax is computed in float32 and converted back: float64 loses its digits, and scores beyond float32's range give NaN")
class FloatSoftmax(_Base):
    def _weights(self, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(1), -math.inf)
        return torch.softmax(scores, dim=-1, dtype=torch.float32).to(scores.dtype)


@wrong("weights below 1e-3 are set to 0 and the others not normalised again", kind="numerics")
class SmallWeightsDropped(_Base):
    def _weights(self, scores, mask):
        weights = super()._weights(scores, mask)
        return torch.where(weights < 1e-3, torch.zeros_like(weights), weights)


change(SoftmaxByHand, "AddedToTheDenominator",
       "1e-4 is added to the denominator of the softmax, so that weights do not sum to 1", "numerics",
       (".masked_fill(mask.unsqueeze(-3) == False, -torch.inf)  # noqa: E712",
        ".masked_fill(~mask.unsqueeze(1), -math.inf)"),
       ("powers.sum(-1, keepdim=True)", "(powers.sum(-1, keepdim=True) + 1e-4)"))


@wrong("the norms compute the variance as the mean of squares less the square of the mean, which cancels where "
       "features lie far from 0 compared with their spread", kind="numerics")
class CancellingNorm(_Base):
    def _normed(self, X, layer):
        mean = X.mean(-1, keepdim=True)
        variance = (X * X).mean(-1, keepdim=True) - mean * mean
        return (X - mean) / torch.sqrt(variance.clamp(min=0) + layer.eps) * layer.weight + layer.bias

    def forward(self, X, mask=None):
        if self.norm_first:
            X = X + self._attention(self._normed(X, self.norm_1), mask)
            return X + self._mlp(self._normed(X, self.norm_2))
        X = self._normed(X + self._attention(X, mask), self.norm_1)
        return self._normed(X + self._mlp(X), self.norm_2)


@wrong("the norms add eps to the standard deviation instead of to the variance inside the root", kind="numerics")
class EpsOutside(_Base):
    def _normed(self, X, layer):
        centred = X - X.mean(-1, keepdim=True)
        length = centred.norm(dim=-1, keepdim=True) / math.sqrt(X.shape[-1])
        return centred / (length + layer.eps) * layer.weight + layer.bias

    def forward(self, X, mask=None):
        if self.norm_first:
            X = X + self._attention(self._normed(X, self.norm_1), mask)
            return X + self._mlp(self._normed(X, self.norm_2))
        X = self._normed(X + self._attention(X, mask), self.norm_1)
        return self._normed(X + self._mlp(X), self.norm_2)


@wrong("the norms divide the variance by D - 1 instead of D, and by 0 where D is 1", kind="numerics")
class UnbiasedVariance(_Base):
    def _normed(self, X, layer):
        variance, mean = torch.var_mean(X, dim=-1, keepdim=True)
        return (X - mean) / torch.sqrt(variance + layer.eps) * layer.weight + layer.bias

    def forward(self, X, mask=None):
        if self.norm_first:
            X = X + self._attention(self._normed(X, self.norm_1), mask)
            return X + self._mlp(self._normed(X, self.norm_2))
        X = self._normed(X + self._attention(X, mask), self.norm_1)
        return self._normed(X + self._mlp(X), self.norm_2)


# ------------------------------------------------------------------------------------------- wrong: layout and shapes


@wrong("X.view(B * N, D) fails for inputs that are no contiguous block, such as transposed ones", kind="layout")
class View(_Base):
    def _attention(self, Z, mask):
        B, N, D = Z.shape
        Q, K, V = self.W_QKV(Z).view(B, N, 3, self.H, -1).permute(2, 0, 3, 1, 4)
        Y = self._weights(self._scores(Q, K), mask) @ V
        return self.W_O(Y.transpose(1, 2).flatten(2))

    def forward(self, X, mask=None):
        B, N, D = X.shape
        return super().forward(X.view(B * N, D).view(B, N, D), mask)


@wrong("the mask gets its missing axis in front, [1, B, N, N], instead of for the heads, [B, 1, N, N]: right for B = 1,"
       " otherwise an error or, where B = H, head h uses the mask of sequence h", kind="layout")
class MaskAxisInFront(_Base):
    def _weights(self, scores, mask):
        return super()._weights(scores, None) if mask is None else (
            scores.masked_fill(~mask.unsqueeze(0), -math.inf).softmax(-1))


@wrong("the mask of the first sequence is used for all sequences of the batch", kind="layout")
class FirstMaskForAll(_Base):
    def _weights(self, scores, mask):
        return super()._weights(scores, None if mask is None else mask[:1])


change(_Base._weights, "MaskSqueezed", "the mask is squeezed without an axis: where N = 1 and B > 1 all its axes but "
       "the batch are lost, the weights get the shape [B, H, 1, B], and the call fails", "layout",
       before("scores =", """
        mask = mask.squeeze()
        mask = mask.unsqueeze(1) if mask.dim() == 3 else mask"""),
       ('~mask.unsqueeze(1), float("-inf")', "~mask, -math.inf"))
change(_PlainForward, "ResultSqueezed",
       "squeeze() without an axis on the result removes every axis of size 1", "layout",
       ("super().forward(X, mask)", "super().forward(X, mask).squeeze()"))


@wrong("a head's columns go from h H to (h + 1) H instead of from h D/H to (h + 1) D/H: right only where H = D/H, "
       "otherwise an error or other columns", kind="shape")
class HTakenForWidth(_Base):
    def _attention(self, Z, mask):
        Q, K, V = self.W_QKV(Z).chunk(3, dim=-1)
        heads = []
        for h in range(self.H):
            own = slice(h * self.H, (h + 1) * self.H)
            q, k, v = Q[..., own].unsqueeze(1), K[..., own].unsqueeze(1), V[..., own].unsqueeze(1)
            heads.append((self._weights(self._scores(q, k), mask) @ v).squeeze(1))
        return self.W_O(torch.cat(heads, dim=-1))


change(_Base._attention, "FirstKeysOnly", "only the first 128 keys of a sequence are used", "shape",
       ("Y = self._weights(self._scores(Q, K), mask) @ V", """
        mask = None if mask is None else mask[..., :128]
        Y = self._weights(self._scores(Q, K[:, :, :128]), mask) @ V[:, :, :128]"""))


# ---------------------------------------------------------------------------------------------------- wrong: gradient


@wrong("the attention weights are detached: queries and keys get no gradient", kind="gradient")
class DetachedWeights(_Base):
    def _weights(self, scores, mask):
        return super()._weights(scores, mask).detach()


@wrong("pre-norm: X_1 is detached in the sum with the MLP's result, so that gradients reach what comes before only "
       "through the MLP and norm_2", kind="gradient")
class DetachedStream(_Base):
    def forward(self, X, mask=None):
        if not self.norm_first:
            return super().forward(X, mask)
        X = X + self._attention(self.norm_1(X), mask)
        return X.detach() + self._mlp(self.norm_2(X))


change(UnbiasedVariance, "DetachedStatistics",
       "mean and variance of the norms are detached, so their part of the gradient is missing", "gradient",
       ("X, dim=-1", "X.detach(), dim=-1, correction=0"))


@wrong("the attention is computed under no_grad: W_QKV, W_O and, in pre-norm, norm_1 get no gradient, "
       "and X none through the attention", kind="gradient")
class AttentionWithoutGrad(_Base):
    @torch.no_grad()
    def _attention(self, Z, mask):
        return super()._attention(Z, mask)


@wrong("W_out is read through .data, so its weight and bias get no gradient", kind="gradient")
class DataOfWOut(_Base):
    def _mlp(self, Z):
        return F.linear(F.gelu(self.W_in(Z)), self.W_out.weight.data, self.W_out.bias.data)


@wrong("queries are computed from a detached stream: W_QKV's gradient is whole, but that of X (and in pre-norm norm_1) "
       "lacks the part through the queries", kind="gradient")
class QueriesFromDetached(_Base):
    def _heads(self, Z):
        Q, _, _ = super()._heads(Z.detach())
        _, K, V = super()._heads(Z)
        return Q, K, V


change(_PlainForward, "InputRebuilt",
       "X is rebuilt by torch.tensor from its numbers, so that no gradient reaches it", "gradient",
       (".forward(X, mask)", ".forward(torch.tensor(X.tolist(), dtype=X.dtype, device=X.device), mask)"))
change(_PlainInit, "FrozenNorms", "the constructor freezes both norms (requires_grad=False), so that their weights and "
       "biases are never learned", "gradient",
       after("super().__init__(D, H, D_F, norm_first)", """
        self.norm_1.requires_grad_(False)
        self.norm_2.requires_grad_(False)"""))


# --------------------------------------------------------------------------------------------------- wrong: interface


change(_Base._weights, "MaskInvertedInPlace",
       "the mask is inverted in place, so that it comes back changed", "interface",
       ('~mask.unsqueeze(1), float("-inf")', "mask.logical_not_().unsqueeze(1), -math.inf"))


@wrong("pre-norm: X_new is written over X through .data, so that X comes back changed, and gradients that need the "
       "old X are wrong", kind="interface")
class StreamInPlace(_Base):
    def forward(self, X, mask=None):
        Y = super().forward(X, mask)
        if self.norm_first:
            X.data.copy_(Y.data)
        return Y


@wrong("a mask is kept, and used for later calls without a mask where the sizes are the same", kind="interface")
class MaskKept(_Base):
    def __init__(self, D, H, D_F, norm_first):
        super().__init__(D, H, D_F, norm_first)
        self._mask = None

    def forward(self, X, mask=None):
        if mask is not None:
            self._mask = mask
        elif self._mask is not None and self._mask.shape == (X.shape[0], X.shape[1], X.shape[1]):
            mask = self._mask
        return super().forward(X, mask)


@wrong("keys and values are kept and used again in later calls with another X of the same shape", kind="interface")
class KeysKept(_Base):
    def __init__(self, D, H, D_F, norm_first):
        super().__init__(D, H, D_F, norm_first)
        self._kept = None

    def _heads(self, Z):
        Q, K, V = super()._heads(Z)
        if self._kept is None or self._kept[0].shape != K.shape:
            self._kept = K, V
        return Q, *self._kept


change(_PlainForward, "MaskWithoutDefault", "the mask has no default: a call with X alone fails", "interface",
       ("mask=None", "mask"))
change(MaskIgnored, "NoneNotHandled", "mask=None is not handled: a call without a mask fails", "interface",
       (".softmax(-1)", ".masked_fill(~mask.unsqueeze(1), -math.inf).softmax(-1)"))


@right("the second argument of forward is called attn_mask, so that mask=... by name fails")
class OtherMaskName(_Base):
    def forward(self, X, attn_mask=None):
        return super().forward(X, attn_mask)


@right("the constructor's arguments are called d_model, n_heads, d_ff and pre_norm, so that D, H, D_F and norm_first by name fail")
class OtherConstructorNames(_Base):
    def __init__(self, d_model, n_heads, d_ff, pre_norm):
        super().__init__(d_model, n_heads, d_ff, pre_norm)


change(_PlainInit, "ConstructorOrder",
       "the constructor takes D_F before H, so that arguments by position are exchanged", "interface",
       ("self, D, H, D_F", "self, D, D_F, H"))


@wrong("forward returns a pair, X_new and the attention weights, instead of X_new", kind="interface")
class Pair(_Base):
    def forward(self, X, mask=None):
        weights = self._weights(self._scores(*self._heads(self.norm_1(X) if self.norm_first else X)[:2]), mask)
        return super().forward(X, mask), weights


change(_Base._weights, "AdditiveWithoutType", "the mask becomes an additive one made by torch.zeros without dtype and "
       "device: float32 weights meet bfloat16 values, which fails, and so do inputs on another device", "interface",
       ('scores = scores.masked_fill(~mask.unsqueeze(1), float("-inf"))', """
        penalty = torch.zeros(mask.shape)
        penalty[~mask] = -math.inf
        scores = scores + penalty.unsqueeze(1)"""))


@wrong("scaled_dot_product_attention gets the mask as numbers 0 and 1, which are added to the scores instead of "
       "forbidding keys", kind="interface")
class MaskAsNumbers(_Base):
    def _attention(self, Z, mask):
        Q, K, V = self._heads(Z)
        mask = None if mask is None else mask.unsqueeze(1).to(Q.dtype)
        return self.W_O(F.scaled_dot_product_attention(Q, K, V, mask).transpose(1, 2).flatten(2))


change(_PlainForward, "FloatResult", "the result is returned in float32 whatever the type of X", "interface",
       ("super().forward(X, mask)", "super().forward(X, mask).float()"))


# -------------------------------------------------------------------------------------------------------- wrong: edge


@wrong("with H = 1 W_O is left out, as if one head had nothing to join", kind="edge")
class NoProjectionForOneHead(_Base):
    def _attention(self, Z, mask):
        if self.H > 1:
            return super()._attention(Z, mask)
        Q, K, V = self._heads(Z)
        return (self._weights(self._scores(Q, K), mask) @ V).squeeze(1)


@wrong("with N = 1 the attention is left out, although it adds W_O of the only value", kind="edge")
class NoAttentionForOneToken(_Base):
    def _attention(self, Z, mask):
        return torch.zeros_like(Z) if Z.shape[1] == 1 else super()._attention(Z, mask)


change(MaskIgnored, "MaskInPreNormOnly", "post-norm: the mask is forgotten; only pre-norm uses it", "concept",
       ("scores.softmax(-1)", "super()._weights(scores, mask if self.norm_first else None)"))


@wrong("a loop over the heads adds the bias of W_O once for each head, H times instead of once", kind="concept")
class BiasForEachHead(_Base):
    def _attention(self, Z, mask):
        Q, K, V = self._heads(Z)
        A = self._weights(self._scores(Q, K), mask) @ V
        slices = self.W_O.weight.chunk(self.H, dim=1)
        return sum(F.linear(A[:, h], slices[h], self.W_O.bias) for h in range(self.H))


@wrong("a mask is applied only to the first head", kind="concept")
class MaskForFirstHead(_Base):
    def _weights(self, scores, mask):
        if mask is None:
            return scores.softmax(-1)
        first = scores[:, :1].masked_fill(~mask.unsqueeze(1), -math.inf)
        return torch.cat([first, scores[:, 1:]], dim=1).softmax(-1)


@wrong("a mask that forbids something, but nothing to the last query of any sequence, is taken for a causal one and "
       "replaced by it, also where it is not causal", kind="edge")
class CausalGuessed(_Base):
    def _attention(self, Z, mask):
        Q, K, V = self._heads(Z)
        causal = mask is not None and bool(mask[:, -1].all()) and not bool(mask.all())
        mask = None if mask is None or causal else mask.unsqueeze(1)
        Y = F.scaled_dot_product_attention(Q, K, V, mask, is_causal=causal)
        return self.W_O(Y.transpose(1, 2).flatten(2))
