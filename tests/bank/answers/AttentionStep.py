"""Right and wrong answers for AttentionStep."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import after, before, change, right, wrong

PAD, START, STOP = 0, 1, 2


class _Layers(nn.Module):
    """The six layers, as the text names them."""

    def __init__(self, V, D_E, D_H, D_S, D_A):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.W = nn.Linear(D_S, D_A, bias=False)
        self.U = nn.Linear(D_H, D_A, bias=False)
        self.v = nn.Linear(D_A, 1, bias=False)
        self.cell = nn.GRUCell(D_E + D_H, D_S)
        self.out = nn.Linear(D_S + D_H, V)


# ------------------------------------------------------------------------------------------------------------- right


@right("The hints as they stand")
class ByTheHints(nn.Module):
    def __init__(self, V, D_E, D_H, D_S, D_A):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        self.W = nn.Linear(D_S, D_A, bias=False)
        self.U = nn.Linear(D_H, D_A, bias=False)
        self.v = nn.Linear(D_A, 1, bias=False)
        self.cell = nn.GRUCell(D_E + D_H, D_S)
        self.out = nn.Linear(D_S + D_H, V)

    def forward(self, y, s, H, mask):
        e = self.v(torch.tanh(self.W(s)[:, None] + self.U(H)))[..., 0]
        a = e.masked_fill(~mask, float("-inf")).softmax(dim=-1)
        c = (a[:, None] @ H)[:, 0]
        s_new = self.cell(torch.cat([self.embedding(y), c], dim=-1), s)
        return self.out(torch.cat([s_new, c], dim=-1)), s_new, a


@right("einsum for scores and context, the layers' weights used directly")
class ByEinsum(_Layers):
    def forward(self, y, s, H, mask):
        asked = torch.einsum("bs,as->ba", s, self.W.weight)
        offered = torch.einsum("bih,ah->bia", H, self.U.weight)
        hidden = (asked.unsqueeze(1) + offered).tanh()
        scores = torch.einsum("bia,oa->bi", hidden, self.v.weight)
        weights = F.softmax(torch.where(mask, scores, -torch.inf), dim=1)
        context = torch.einsum("bi,bih->bh", weights, H)
        fed = torch.hstack([self.embedding.weight[y], context])
        state = self.cell(fed, s)
        return F.linear(torch.hstack([state, context]), self.out.weight, self.out.bias), state, weights


@right("A loop over sentences, each with its own words only; the weights are scattered back")
class SentenceBySentence(_Layers):
    def forward(self, y, s, H, mask):
        logits, states, tables = [], [], []
        for b in range(H.shape[0]):
            places = torch.nonzero(mask[b])[:, 0]
            words = H[b].index_select(0, places)
            e = self.v(torch.tanh(self.W(s[b]) + self.U(words))).squeeze(-1)
            a = torch.softmax(e, dim=0)
            c = a @ words
            new = self.cell(torch.cat([self.embedding(y[b]), c])[None], s[b][None])[0]
            logits.append(self.out(torch.cat([new, c])))
            states.append(new)
            tables.append(torch.zeros_like(H[b, :, 0]).index_copy(0, places, a))
        return torch.stack(logits), torch.stack(states), torch.stack(tables)


@right("A loop over the source words, sums instead of a matrix product for the context")
class WordByWord(_Layers):
    def forward(self, y, s, H, mask):
        query = self.W(s)
        e = torch.cat([self.v(torch.tanh(query + self.U(h))) for h in H.unbind(1)], dim=1)
        e = e + torch.zeros_like(e).masked_fill(mask.logical_not(), -torch.inf)
        a = e.softmax(-1)
        c = sum(a[:, i, None] * H[:, i] for i in range(H.shape[1]))
        s_new = self.cell(torch.cat((self.embedding(y), c), -1), s)
        return self.out(torch.cat((s_new, c), -1)), s_new, a


@right("Layers made in another order; methods of their own for the scores and for the look at the words")
class InMethods(nn.Module):
    def __init__(self, V: int, D_E: int, D_H: int, D_S: int, D_A: int) -> None:
        super().__init__()
        self.out = nn.Linear(D_H + D_S, V)
        self.cell = nn.GRUCell(input_size=D_H + D_E, hidden_size=D_S)
        self.v, self.U, self.W = (nn.Linear(i, o, bias=False) for i, o in ((D_A, 1), (D_H, D_A), (D_S, D_A)))
        self.embedding = nn.Embedding(num_embeddings=V, embedding_dim=D_E)

    def _scores(self, s, H):
        return self.v((self.W(s).unsqueeze(-2) + self.U(H)).tanh()).squeeze(-1)

    def _look(self, s, H, mask):
        e = self._scores(s, H).masked_fill(mask == False, -math.inf)
        top = e.max(dim=-1, keepdim=True).values.detach()
        parts = (e - top).exp()
        return parts / parts.sum(dim=-1, keepdim=True)

    def forward(self, y, s, H, mask):
        a = self._look(s, H, mask)
        c = (a.unsqueeze(-1) * H).sum(dim=-2)
        s_new = self.cell(torch.concat([self.embedding(y), c], dim=1), s)
        return self.out(torch.concat([s_new, c], dim=1)), s_new, a


@right("The GRU cell is written out from the cell's own parameters")
class CellWrittenOut(_Layers):
    def forward(self, y, s, H, mask):
        a = self.v(torch.tanh(self.W(s)[:, None, :] + self.U(H))).flatten(1).masked_fill(~mask, -torch.inf).softmax(1)
        c = torch.bmm(a.unsqueeze(1), H).squeeze(1)
        x = torch.cat([F.embedding(y, self.embedding.weight), c], dim=-1)
        from_x = x @ self.cell.weight_ih.mT + self.cell.bias_ih
        from_s = s @ self.cell.weight_hh.mT + self.cell.bias_hh
        r_x, z_x, n_x = from_x.chunk(3, dim=-1)
        r_s, z_s, n_s = from_s.chunk(3, dim=-1)
        r, z = torch.sigmoid(r_x + r_s), torch.sigmoid(z_x + z_s)
        s_new = (1 - z) * torch.tanh(n_x + r * n_s) + z * s
        return self.out(torch.cat([s_new, c], dim=-1)), s_new, a


@right("tanh of the sum by broadcasting over a words-first table, softmax over axis 0")
class WordsFirst(_Layers):
    def forward(self, y, s, H, mask):
        states = H.transpose(0, 1)
        e = self.v(torch.tanh(self.U(states) + self.W(s))).select(-1, 0)
        a = torch.where(mask.mT, e, torch.full_like(e, -torch.inf)).softmax(0)
        c = torch.linalg.vecdot(a.unsqueeze(-1).expand_as(states), states, dim=0)
        s_new = self.cell(torch.cat([self.embedding(y), c], 1), s)
        return self.out(torch.cat([s_new, c], 1)), s_new, a.mT


@right("All pairs in one linear layer made of W and U side by side")
class OneJoinedLayer(_Layers):
    def forward(self, y, s, H, mask):
        both = torch.cat([s.unsqueeze(1).expand(-1, H.shape[1], -1), H], dim=-1)
        joined = torch.cat([self.W.weight, self.U.weight], dim=1)
        e = F.linear(torch.tanh(F.linear(both, joined)), self.v.weight).sum(-1)
        a = torch.exp(torch.log_softmax(e.masked_fill(~mask, -torch.inf), -1))
        c = torch.matmul(H.mT, a.unsqueeze(-1)).squeeze(-1)
        s_new = self.cell(torch.cat([self.embedding(y), c], -1), s)
        split = self.out.weight.split([s.shape[1], H.shape[2]], dim=1)
        return s_new @ split[0].mT + c @ split[1].mT + self.out.bias, s_new, a


@right("Layers built in a loop with setattr; everything kept three-dimensional with T_y = 1 until the end")
class WithOneStepAxis(nn.Module):
    def __init__(self, V, D_E, D_H, D_S, D_A):
        super().__init__()
        self.embedding = nn.Embedding(V, D_E)
        for name, (inner, outer) in {"W": (D_S, D_A), "U": (D_H, D_A), "v": (D_A, 1)}.items():
            setattr(self, name, nn.Linear(inner, outer, bias=False))
        self.cell = nn.GRUCell(D_E + D_H, D_S)
        self.out = nn.Linear(D_S + D_H, V)

    def forward(self, y, s, H, mask):
        S = s.unsqueeze(1)
        E = self.v(torch.tanh(self.W(S).unsqueeze(2) + self.U(H).unsqueeze(1))).squeeze(3)
        A = E.masked_fill(~mask.unsqueeze(1), -torch.inf).softmax(2)
        C = A @ H
        fed = torch.cat([self.embedding(y).unsqueeze(1), C], dim=2)
        s_new = self.cell(fed.squeeze(1), s)
        logits = self.out(torch.cat([s_new.unsqueeze(1), C], dim=2))
        return logits.squeeze(1), s_new, A.squeeze(1)


@right("Words picked out of all sentences at once by the mask, segment sums")
class BySegments(_Layers):
    def forward(self, y, s, H, mask):
        b, i = mask.nonzero(as_tuple=True)
        words = H[b, i]
        e = self.v(torch.tanh(self.W(s)[b] + self.U(words)))[:, 0]
        top = torch.full_like(s[:, 0], -torch.inf).scatter_reduce(0, b, e.detach(), "amax")
        parts = (e - top[b]).exp()
        total = torch.zeros_like(top).index_add(0, b, parts)
        shares = parts / total[b]
        a = torch.zeros_like(H[..., 0]).index_put((b, i), shares)
        c = torch.zeros_like(H[:, 0]).index_add(0, b, shares[:, None] * words)
        s_new = self.cell(torch.cat([self.embedding(y), c], -1), s)
        return self.out(torch.cat([s_new, c], -1)), s_new, a


@right("Returns a named tuple, uses functional embedding, addmm for the logits")
class NamedResult(_Layers):
    def forward(self, y, s, H, mask):
        from collections import namedtuple

        hidden = torch.add(self.U(H), self.W(s).unsqueeze(1)).tanh_()
        e = hidden.matmul(self.v.weight[0])
        a = torch.nn.Softmax(-1)(e.masked_fill(torch.logical_not(mask), -torch.inf))
        c = torch.baddbmm(torch.zeros_like(H[:, :1]), a.unsqueeze(1), H).flatten(1)
        s_new = self.cell(torch.cat([F.embedding(y, self.embedding.weight), c], 1), s)
        logits = torch.addmm(self.out.bias, torch.cat([s_new, c], 1), self.out.weight.t())
        return namedtuple("Step", "logits state weights")(logits, s_new, a)


# ------------------------------------------------------------------------------------------------- wrong: helpers


def _finish(self, y, s, H, a):
    """Steps 3 to 5, right."""
    c = (a[:, None] @ H)[:, 0]
    s_new = self.cell(torch.cat([self.embedding(y), c], -1), s)
    return self.out(torch.cat([s_new, c], -1)), s_new, a


class _Step(_Layers):
    """All right; a wrong answer overwrites what it does wrongly."""

    def scores(self, s, H):
        return self.v(torch.tanh(self.W(s)[:, None] + self.U(H)))[..., 0]

    def weights(self, e, mask):
        return e.masked_fill(~mask, -torch.inf).softmax(-1)

    def context(self, a, H):
        return (a[:, None] @ H)[:, 0]

    def forward(self, y, s, H, mask):
        a = self.weights(self.scores(s, H), mask)
        c = self.context(a, H)
        s_new = self.cell(torch.cat([self.embedding(y), c], -1), s)
        return self.out(torch.cat([s_new, c], -1)), s_new, a


# --------------------------------------------------------------------------------------------------- wrong: concept


change(_Step.forward, "NewStateAsks", "the new state asks instead of the state before: after the cell weights and "
       "context are computed anew, and these are returned and used for the logits", "concept",
       before("a =", """
        c = self.context(self.weights(self.scores(s, H), mask), H)
        s_new = self.cell(torch.cat([self.embedding(y), c], -1), s)"""),
       (".scores(s, H)", ".scores(s_new, H)"), ("s_new = self.cell(torch.cat([self.embedding(y), c], -1), s)", ""))
change(_Step.forward, "ContextFirst", "the cell's input has the context first and the word's vector second", "concept",
       ("self.embedding(y), c", "c, self.embedding(y)"))
change(_Step.forward, "OutContextFirst", "the input of out has the context first and the state second", "concept",
       ("s_new, c", "c, s_new"))
change(_Step.forward, "LogitsOfTheOldState",
       "the logits are made of the state before the step instead of the new one", "concept",
       ("s_new, c", "s, c"))


# Right, and not registered: answers below are changes of it.
class _PlainForward(_Step):
    def forward(self, y, s, H, mask):
        logits, s_new, a = super().forward(y, s, H, mask)
        return logits, s_new, a


change(_PlainForward, "OldStateReturned", "the state before the step is returned instead of the new one", "concept",
       ("s_new, a =", "_, a ="), ("return logits, s_new", "return logits, s"))
change(_Step.scores, "NoTanh", "no tanh in the scores", "concept",
       ("torch.tanh(self.W(s)[:, None] + self.U(H))", "self.W(s)[:, None] + self.U(H)"))
change(_Step.scores, "TanhOutside", "the tanh stands outside, around v, instead of around the sum", "concept",
       ("return self.v(torch.tanh(self.W(s)[:, None] + self.U(H)))[..., 0]",
        "return torch.tanh(self.v(self.W(s)[:, None] + self.U(H)))[..., 0]"))
change(_Step.scores, "ReluScores", "relu instead of tanh in the scores", "concept",
       (".tanh", ".relu"))
change(_Step.scores, "TwoTanhs", "tanh of W(s) and of U(h) separately, added afterwards", "concept",
       ("torch.tanh(self.W(s)[:, None] + self.U(H))", "self.W(s).tanh()[:, None] + self.U(H).tanh()"))
change(_Step.scores, "ProductInside", "W(s) and U(h) are multiplied instead of added", "concept",
       ("+ self.U(H)", "* self.U(H)"))


@wrong("the scores are divided by the root of D_A", kind="concept")
class ScaledScores(_Step):
    def scores(self, s, H):
        return super().scores(s, H) / math.sqrt(self.v.in_features)


change(_Step.weights, "NegativeScores", "softmax of the negative scores", "concept",
       ("return e", "return (-e)"))
change(_Step.weights, "NoMask", "the mask is ignored: padding gets weight", "concept",
       ("e.masked_fill(~mask, -torch.inf).softmax(-1)", "e.softmax(-1)"))
change(_Step.weights, "MaskAfterSoftmax",
       "the mask is applied after the softmax, and the rest is not shared anew", "concept",
       ("e.masked_fill(~mask, -torch.inf).softmax(-1)", "e.softmax(-1) * mask"))
change(_Step.weights, "MaskInverted",
       "the mask is inverted, so only padding is looked at (NaN where there is none)", "concept",
       ("~mask", "mask"))
change(_Step.weights, "SoftmaxOverTheBatch", "softmax over the batch (axis 0) instead of the words", "concept",
       ("e.masked_fill(~mask, -torch.inf).softmax(-1)", "e.softmax(0) * mask"))
change(_PlainForward, "ProbabilitiesReturned", "the logits are turned into probabilities by a softmax", "concept",
       ("return logits", "return logits.softmax(-1)"))
change(_PlainForward, "ScoresReturned", "the scores are returned in place of the weights", "concept",
       ("a =", "_ ="), ("return logits, s_new, a", "return logits, s_new, self.scores(s, H)"))
change(_Step.context, "HardContext",
       "the context is the encoder state with the largest weight alone, not the weighted sum", "concept",
       ("return (a[:, None] @ H)[:, 0]", "return H[torch.arange(len(H), device=H.device), a.argmax(-1)]"))
change(_Step.context, "ContextIsAMean",
       "the context is divided by the number of places T_x: a mean of weighted states instead of their sum", "concept",
       ("(a[:, None] @ H)[:, 0]", "(a[..., None] * H).mean(1)"))
change(_Step.context, "TanhOfTheContext", "a tanh is put around the context", "concept",
       ("return (a[:, None] @ H)[:, 0]", "return super().context(a, H).tanh()"))
change(_Step.forward, "ScaledEmbedding", "the word's vector is multiplied by the root of D_E", "concept",
       before("s_new =", "word = self.embedding(y) * math.sqrt(self.embedding.embedding_dim)"),
       ("self.embedding(y)", "word"))
change(_Step.forward, "ResidualState",
       "the state before the step is added to the new one (a residual connection)", "concept",
       ("self.cell", "s + self.cell"))
change(_Step.forward, "CellTwice", "the cell is called twice in one step", "concept",
       ("s_new = self.cell(torch.cat([self.embedding(y), c], -1), s)", """
        x = torch.cat([self.embedding(y), c], -1)
        s_new = self.cell(x, self.cell(x, s))"""))
change(_Step.forward, "CellFromZero", "the cell starts from a state of zeros instead of s", "concept",
       ("s_new = self.cell(torch.cat([self.embedding(y), c], -1), s)",
        "s_new = self.cell(torch.cat([self.embedding(y), c], -1))"))


@wrong("the last word y is ignored: every sentence is fed START", kind="concept")
class AlwaysFedStart(_Step):
    def forward(self, y, s, H, mask):
        return super().forward(torch.full_like(y, START), s, H, mask)


# --------------------------------------------------------------------------------------------- wrong: two mistakes


change(_Step.forward, "TwoOrders",
       "two mistakes: context before word in the cell's input, and context before state in the input of out", "concept",
       ("self.embedding(y), c", "c, self.embedding(y)"), ("s_new, c", "c, s_new"))


@wrong("two mistakes: no tanh in the scores, and padding gets the score 0 instead of -inf", kind="concept")
class TwoTanhAndFill(_Step):
    def scores(self, s, H):
        return self.v(self.W(s)[:, None] + self.U(H)).flatten(1)

    def weights(self, e, mask):
        return (e * mask).softmax(-1)


@wrong("two mistakes: exponentials without a maximum (overflow), and words are taken to stand at the beginning",
       kind="numerics")
class TwoExpAndPrefix(_Step):
    def weights(self, e, mask):
        prefix = torch.arange(e.shape[1], device=e.device) < mask.sum(1, keepdim=True)
        parts = torch.where(prefix, e, -torch.inf).exp()
        return parts / parts.sum(-1, keepdim=True)


change(_PlainForward, "TwoLogAndOrder", "two mistakes: log-probabilities instead of logits, and new state and weights "
       "are returned in the other order", "interface",
       ("return logits, s_new, a", "return logits.log_softmax(-1), a, s_new"))


@wrong("two mistakes: the weights returned are detached, and no gradient flows from the context to H through the sum",
       kind="gradient")
class TwoDetached(_Step):
    def forward(self, y, s, H, mask):
        a = self.weights(self.scores(s, H), mask)
        logits, s_new, _ = _finish(self, y, s, H.detach(), a)
        return logits, s_new, a.detach()


# -------------------------------------------------------------------------------------------------- wrong: numerics


@wrong("exponentials without subtracting a maximum: scores in the hundreds give inf/inf, or 0/0 if all are negative",
       kind="numerics")
class ExpWithoutMaximum(_Step):
    def weights(self, e, mask):
        parts = torch.exp(e) * mask
        return parts / parts.sum(-1, keepdim=True)


@wrong("one maximum for the whole batch: a sentence with much lower scores underflows to 0/0", kind="numerics")
class OneMaximum(_Step):
    def weights(self, e, mask):
        z = e.masked_fill(~mask, -torch.inf)
        parts = (z - z.max()).exp()
        return parts / parts.sum(-1, keepdim=True)


@wrong("softmax over all places, then mask and division by the rest: where padding scores hundreds above the words "
       "it is 0/0",
       kind="numerics")
class SharedAnew(_Step):
    def weights(self, e, mask):
        a = e.softmax(-1) * mask
        return a / a.sum(-1, keepdim=True)


change(_Step.weights, "FilledWithMinus100", "padding gets the score -100 instead of -inf: its weight is not exactly 0, "
       "and where words score lower it takes all", "numerics",
       ("-torch.inf", "-100.0"))
change(_Step.weights, "ClampedScores", "the scores are clamped to between -20 and 20 before the softmax", "numerics",
       (".masked_fill(~mask, -torch.inf).softmax(-1)", ".clamp(-20, 20).masked_fill(~mask, -torch.inf).softmax(-1)"))


@wrong("0.001 is added to the softmax's denominator, so weights sum to visibly less than 1", kind="numerics")
class EpsInTheSum(_Step):
    def weights(self, e, mask):
        z = e.masked_fill(~mask, -torch.inf)
        parts = (z - z.amax(-1, keepdim=True)).exp()
        return parts / (parts.sum(-1, keepdim=True) + 1e-3)


change(_Step.context, "ContextInHalf",
       "the context is summed in float16 and cast back: three digits, and states above 65504 become inf", "numerics",
       ("return (a[:, None] @ H)[:, 0]", "return (a.half()[..., None] * H.half()).sum(1).to(H.dtype)"))
change(_Step.weights, "PaddingUnlikely",
       "padding gets the logarithm of 0.0001 added: it is merely unlikely, its weight is not exactly 0", "numerics",
       ("e.masked_fill(~mask, -torch.inf)", "(e + (mask.to(e.dtype) + 1e-4).log())"))


# ---------------------------------------------------------------------------------------------------- wrong: layout


change(_Step.scores, "ViewOfH", "H.view(-1, D_H) raises if the encoder states are not contiguous", "layout",
       before("return", """
        B, T_x, D_H = H.shape
        keys = self.U(H.view(-1, D_H)).view(B, T_x, -1)"""),
       ("self.U(H)", "keys"))


@wrong("squeeze() without an axis on the scores: for T_x = 1 they are [B], which the mask [B, 1] spreads to [B, B]",
       kind="layout")
class ScoresSqueezed(_Step):
    def forward(self, y, s, H, mask):
        e = self.v(torch.tanh(self.W(s)[:, None] + self.U(H))).squeeze()
        a = torch.where(mask, e, -torch.inf).softmax(-1)
        return _finish(self, y, s, H, a)


change(_Step.context, "ContextSqueezed", "squeeze() without an axis on the context: for B = 1 (or D_H = 1) an axis too "
       "many is lost and cat raises", "layout",
       ("(a[:, None] @ H)[:, 0]", "(a[:, None] @ H).squeeze()"))
change(_Step.scores, "NoNewAxis", "W(s) is added without a new axis: its rows meet H's places instead of its sentences "
       "(right for B = 1 alone; otherwise it raises unless T_x = B)", "shape",
       (".W(s)[:, None]", ".W(s)"))


# -------------------------------------------------------------------------------------------------- wrong: gradient


change(_Step.context, "WeightsDetachedInTheContext", "the weights are detached in the context: W, U and v learn "
       "nothing from the logits and the new state", "gradient",
       ("return (a[:, None] @ H)[:, 0]", "return super().context(a.detach(), H)"))
change(_PlainForward, "WeightsReturnedDetached", "the weights that are returned are detached", "gradient",
       ("return logits, s_new, a", "return logits, s_new, a.detach()"), verdict="open")


@wrong("the state is detached before it goes into the cell and the scores (truncated backpropagation)", kind="gradient")
class StateDetached(_Step):
    def forward(self, y, s, H, mask):
        return super().forward(y, s.detach(), H, mask)


change(_Step.forward, "ContextDetachedForOut", "the context is detached where out reads it", "gradient",
       ("s_new, c", "s_new, c.detach()"))


@wrong("the encoder states are detached in the scores: H gets no gradient through U", kind="gradient")
class StatesDetachedInTheScores(_Step):
    def scores(self, s, H):
        return super().scores(s, H.detach())


# Right, and not registered: answers below are changes of it.
class _PlainInit(_Step):
    def __init__(self, V, D_E, D_H, D_S, D_A):
        super().__init__(V, D_E, D_H, D_S, D_A)


change(_PlainInit, "FrozenEmbedding", "the embedding is frozen: its parameter gets no gradient", "gradient",
       after("super().__init__(V, D_E, D_H, D_S, D_A)", "self.embedding.weight.requires_grad_(False)"))


# ---------------------------------------------------------------------------------------------------- wrong: module


change(_PlainInit, "BiasInW", "the layer W has a bias", "module",
       after("super().__init__(V, D_E, D_H, D_S, D_A)", "self.W = nn.Linear(D_S, D_A)"))
change(_PlainInit, "BiasInV",
       "the layer v has a bias (which the softmax cancels, but the text says: without)", "module",
       after("super().__init__(V, D_E, D_H, D_S, D_A)", "self.v = nn.Linear(D_A, 1)"))
change(_PlainInit, "NoBiasInOut", "the layer out has no bias", "module",
       after("super().__init__(V, D_E, D_H, D_S, D_A)", "self.out = nn.Linear(D_S + D_H, V, bias=False)"))
change(_PlainInit, "PaddingIndex",
       "the embedding has padding_idx=0: the vector of PAD starts at 0 and never gets a gradient", "module",
       after("super().__init__(V, D_E, D_H, D_S, D_A)", "self.embedding = nn.Embedding(V, D_E, padding_idx=PAD)"))
change(_PlainInit, "MaximumNorm",
       "the embedding has max_norm=1: vectors are shortened, in place, when they are looked up", "module",
       after("super().__init__(V, D_E, D_H, D_S, D_A)", "self.embedding = nn.Embedding(V, D_E, max_norm=1.0)"))


@wrong("the embedding is called embed instead of embedding", kind="module")
class OtherLayerName(nn.Module):
    def __init__(self, V, D_E, D_H, D_S, D_A):
        super().__init__()
        self.embed = nn.Embedding(V, D_E)
        self.W = nn.Linear(D_S, D_A, bias=False)
        self.U = nn.Linear(D_H, D_A, bias=False)
        self.v = nn.Linear(D_A, 1, bias=False)
        self.cell = nn.GRUCell(D_E + D_H, D_S)
        self.out = nn.Linear(D_S + D_H, V)

    def forward(self, y, s, H, mask):
        a = self.v(torch.tanh(self.W(s)[:, None] + self.U(H)))[..., 0].masked_fill(~mask, -torch.inf).softmax(-1)
        c = (a[:, None] @ H)[:, 0]
        s_new = self.cell(torch.cat([self.embed(y), c], -1), s)
        return self.out(torch.cat([s_new, c], -1)), s_new, a


@wrong("an nn.GRU is used in place of the nn.GRUCell, so its parameters have other names (weight_ih_l0, ...)",
       kind="module")
class WholeGRU(_Step):
    def __init__(self, V, D_E, D_H, D_S, D_A):
        super().__init__(V, D_E, D_H, D_S, D_A)
        self.cell = nn.GRU(D_E + D_H, D_S, batch_first=True)

    def forward(self, y, s, H, mask):
        a = self.weights(self.scores(s, H), mask)
        c = self.context(a, H)
        _, s_new = self.cell(torch.cat([self.embedding(y), c], -1)[:, None], s[None].contiguous())
        return self.out(torch.cat([s_new[0], c], -1)), s_new[0], a


change(_PlainInit, "PlainCell", "an nn.RNNCell in place of the nn.GRUCell", "module",
       after("super().__init__(V, D_E, D_H, D_S, D_A)", "self.cell = nn.RNNCell(D_E + D_H, D_S)"))


@wrong("v is an nn.Parameter [D_A] instead of an nn.Linear, so there is no v.weight", kind="module")
class VectorV(_Step):
    def __init__(self, V, D_E, D_H, D_S, D_A):
        super().__init__(V, D_E, D_H, D_S, D_A)
        del self.v
        self.v = nn.Parameter(torch.randn(D_A) / math.sqrt(D_A))

    def scores(self, s, H):
        return torch.tanh(self.W(s)[:, None] + self.U(H)) @ self.v


@wrong("out reads the new state only: nn.Linear(D_S, V), and the context does not enter the logits", kind="module")
class OutOfTheStateAlone(_Step):
    def __init__(self, V, D_E, D_H, D_S, D_A):
        super().__init__(V, D_E, D_H, D_S, D_A)
        self.out = nn.Linear(D_S, V)

    def forward(self, y, s, H, mask):
        a = self.weights(self.scores(s, H), mask)
        s_new = self.cell(torch.cat([self.embedding(y), self.context(a, H)], -1), s)
        return self.out(s_new), s_new, a


@wrong("a seventh layer, a LayerNorm on the new state before out", kind="module")
class LayerNormAdded(_Step):
    def __init__(self, V, D_E, D_H, D_S, D_A):
        super().__init__(V, D_E, D_H, D_S, D_A)
        self.norm = nn.LayerNorm(D_S)

    def forward(self, y, s, H, mask):
        a = self.weights(self.scores(s, H), mask)
        c = self.context(a, H)
        s_new = self.cell(torch.cat([self.embedding(y), c], -1), s)
        return self.out(torch.cat([self.norm(s_new), c], -1)), s_new, a


change(_Step.forward, "DropoutOnWords",
       "dropout of 0.2 on the word's vector in training mode (with a fixed seed)", "module",
       before("s_new =", """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            word = F.dropout(self.embedding(y), 0.2, self.training)"""),
       ("self.embedding(y)", "word"))


@wrong("in training mode the context is made of equal weights for all words, and only in eval mode of the softmax's",
       kind="module")
class EqualWeightsInTraining(_Step):
    def weights(self, e, mask):
        a = super().weights(e, mask)
        equal = mask.to(e.dtype) / mask.sum(-1, keepdim=True)
        return equal + a - a.detach() if self.training else a


change(_PlainInit, "WidthsExchanged",
       "the constructor takes D_S before D_H, so by position the two widths are exchanged", "interface",
       ("self, V, D_E, D_H, D_S", "self, V, D_E, D_S, D_H"))


# ------------------------------------------------------------------------------------- wrong: interface and the rest


@wrong("U(H) is computed at the first call and kept: a later call with other encoder states of that shape uses the "
       "old ones",
       kind="interface")
class KeysKept(_Step):
    keys = None

    def scores(self, s, H):
        if self.keys is None or self.keys.shape[:2] != H.shape[:2]:
            self.keys = self.U(H)
        return self.v(torch.tanh(self.W(s)[:, None] + self.keys))[..., 0]


@wrong("the state of the call before is kept and used in place of the argument s, if the batch has the same size",
       kind="interface")
class StateKept(_Step):
    last = None

    def forward(self, y, s, H, mask):
        if self.last is not None and self.last.shape == s.shape:
            s = self.last.to(s.dtype)
        results = super().forward(y, s, H, mask)
        self.last = results[1].detach()
        return results


change(_PlainForward, "WritesIntoS", "the new state is copied into the caller's s", "interface",
       (".forward(y, s, H, mask)", ".forward(y, s.clone(), H, mask)"),
       before("return", """
        with torch.no_grad():
            s.copy_(s_new)"""))


@wrong("the padded places of the caller's H are set to 0 in place", kind="interface")
class ClearsPaddingInH(_Step):
    def forward(self, y, s, H, mask):
        with torch.no_grad():
            H.masked_fill_(~mask[..., None], 0)
        return super().forward(y, s, H, mask)


change(_PlainForward, "OtherOrder", "returns (logits, weights, new state): the last two are exchanged", "interface",
       ("return logits, s_new, a", "return logits, a, s_new"))
change(_PlainForward, "Dictionary", "returns a dictionary instead of three tensors", "interface",
       ("return logits, s_new, a", 'return {"logits": logits, "state": s_new, "weights": a}'))
change(_PlainForward, "WeightsWithAStepAxis",
       "the weights are returned as [B, 1, T_x], with an axis too many", "interface",
       ("return logits, s_new, a", "return logits, s_new, a[:, None]"))
change(_PlainForward, "WeightsInFloat32",
       "the weights are returned in float32 whatever the inputs' type is", "interface",
       ("return logits, s_new, a", "return logits, s_new, a.float()"))


@wrong("the context is summed up in torch.zeros of the default type: in bfloat16 the cell's input does not fit its "
       "weights "
       "and it raises, in float64 the context is rounded to float32", kind="interface")
class ContextInDefaultType(_Step):
    def context(self, a, H):
        c = torch.zeros(H.shape[0], H.shape[2], device=H.device)
        for i in range(H.shape[1]):
            c += a[:, i, None] * H[:, i]
        return c


@right("forward calls its second argument state: a call with s= by keyword raises")
class OtherArgumentName(_Step):
    def forward(self, y, state, H, mask):
        return super().forward(y, state, H, mask)


@wrong("F.scaled_dot_product_attention with the masked scores as additive mask makes the context, which is not "
       "allowed here",
       kind="process")
class FusedContext(_Step):
    def forward(self, y, s, H, mask):
        z = self.scores(s, H).masked_fill(~mask, -torch.inf)
        c = F.scaled_dot_product_attention(torch.zeros_like(H[:, :1]), H, H, attn_mask=z[:, None])[:, 0]
        s_new = self.cell(torch.cat([self.embedding(y), c], -1), s)
        return self.out(torch.cat([s_new, c], -1)), s_new, z.softmax(-1)


@wrong("words are taken to stand at the beginning: the mask is replaced by its count", kind="edge")
class MaskAsAPrefix(_Step):
    def weights(self, e, mask):
        prefix = torch.arange(e.shape[1], device=e.device) < mask.sum(1, keepdim=True)
        return super().weights(e, prefix)


change(_Step.forward, "EndedSentencesRest", "where y is PAD the state is not changed but returned as it came, so the "
       "step is not done for these sentences", "edge",
       before("return", "s_new = torch.where((y == PAD)[:, None], s, s_new)"))


@wrong("only the first 50 encoder states are looked at; the weights of the others are 0", kind="edge")
class FiftyWords(_Step):
    def weights(self, e, mask):
        fits = torch.arange(e.shape[1], device=e.device) < 50
        return super().weights(e, mask & (fits | ~(mask & fits).any(-1, keepdim=True)))


@wrong("where D_S = D_A the weight of W is used without transposing it (s @ W.weight)", kind="edge")
class WeightNotTransposed(_Step):
    def scores(self, s, H):
        square = self.W.weight.shape[0] == self.W.weight.shape[1]
        asked = s @ self.W.weight if square else self.W(s)
        return self.v(torch.tanh(asked[:, None] + self.U(H)))[..., 0]


@wrong("the mask of the batch's first sentence is used for all sentences", kind="shape")
class FirstMaskForAll(_Step):
    def weights(self, e, mask):
        return super().weights(e, mask[:1].expand_as(mask))
