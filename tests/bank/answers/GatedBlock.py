"""Answers to GatedBlock (assignment 17)."""

import math

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong
from torch import nn

# ---------------------------------------------------------------- right


@right("A picture of zeros in front: positions before any picture attend to it, and get zeros")
class PictureOfZeros(nn.Module):
    def __init__(self, D: int, H: int):
        super().__init__()
        self.H = H
        self.norm_text, self.norm_mlp = nn.LayerNorm(D), nn.LayerNorm(D)
        self.to_queries, self.to_keys, self.to_values, self.output = (nn.Linear(D, D, bias=False) for _ in range(4))
        self.gate_attention, self.gate_mlp = nn.Parameter(torch.zeros([])), nn.Parameter(torch.zeros([]))
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def forward(self, X, pictures, is_picture):
        pictures = F.pad(pictures, (0, 0, 0, 0, 1, 0))
        which = is_picture.cumsum(1)
        rows = torch.arange(len(X), device=X.device)[:, None]
        q = self.to_queries(self.norm_text(X)).unflatten(-1, (self.H, 1, -1))
        k = self.to_keys(pictures)[rows, which].unflatten(-1, (self.H, -1)).transpose(2, 3)
        v = self.to_values(pictures)[rows, which].unflatten(-1, (self.H, -1)).transpose(2, 3)
        mixed = F.scaled_dot_product_attention(q, k, v).flatten(2)
        X = X + self.gate_attention.tanh() * self.output(mixed)
        return X + self.gate_mlp.tanh() * self.mlp(self.norm_mlp(X))


@right("One attention over all P * R vectors with a mask; rows that see nothing are opened, then multiplied by zero")
class MaskOverAllVectors(nn.Module):
    def __init__(self, D: int, H: int):
        super().__init__()
        self.heads = H
        self.norm_text = nn.LayerNorm(D)
        for name in ("to_queries", "to_keys", "to_values", "output"):
            self.add_module(name, nn.Linear(D, D, bias=False))
        self.gate_attention = nn.Parameter(torch.tensor(0.0))
        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))
        self.gate_mlp = nn.Parameter(torch.tensor(0.0))

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, X, pictures, is_picture):
        P, R = pictures.shape[1:3]
        number = is_picture.long().cumsum(1)[..., None]
        owner = torch.arange(1, P + 1, device=X.device).repeat_interleave(R)
        seen = number > 0
        allowed = ((number == owner) | ~seen)[:, None]
        memory = pictures.flatten(1, 2)
        q, k, v = (
            self.split(self.to_queries(self.norm_text(X))),
            self.split(self.to_keys(memory)),
            self.split(self.to_values(memory)),
        )
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed).transpose(1, 2).flatten(2)
        X = X + torch.tanh(self.gate_attention) * self.output(mixed * seen.to(mixed.dtype))
        return X + torch.tanh(self.gate_mlp) * self.mlp(self.norm_mlp(X))


@right("All positions attend to every picture, one picture after the other; torch.where keeps the one that counts")
class OnePictureAfterTheOther(nn.Module):
    def __init__(self, D: int, H: int):
        super().__init__()
        self.d = D // H
        self.norm_text = nn.LayerNorm(D)
        self.to_queries = nn.Linear(D, D, False)
        self.to_keys = nn.Linear(D, D, False)
        self.to_values = nn.Linear(D, D, False)
        self.output = nn.Linear(D, D, False)
        self.gate_attention = nn.Parameter(torch.zeros(()))
        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))
        self.gate_mlp = nn.Parameter(torch.zeros(()))

    def forward(self, X, pictures, is_picture):
        number = torch.cumsum(is_picture, 1).unsqueeze(-1)
        queries = self.to_queries(self.norm_text(X)).split(self.d, dim=-1)
        mixed = torch.zeros_like(X)
        for p, picture in enumerate(pictures.unbind(1), start=1):
            keys, values = self.to_keys(picture).split(self.d, -1), self.to_values(picture).split(self.d, -1)
            heads = [(q @ k.mT / math.sqrt(self.d)).softmax(-1) @ v for q, k, v in zip(queries, keys, values)]
            mixed = torch.where(number == p, torch.cat(heads, -1), mixed)
        X = torch.addcmul(X, self.gate_attention.tanh(), self.output(mixed))
        return torch.addcmul(X, self.gate_mlp.tanh(), self.mlp(self.norm_mlp(X)))


@right("Row by row and position by position, with the last picture remembered")
class PositionByPosition(nn.Module):
    def __init__(self, D: int, H: int):
        super().__init__()
        self.D, self.H = D, H
        self.norm_text = nn.LayerNorm(D)
        self.to_queries = nn.Linear(D, D, bias=False)
        self.to_keys = nn.Linear(D, D, bias=False)
        self.to_values = nn.Linear(D, D, bias=False)
        self.output = nn.Linear(D, D, bias=False)
        self.gate_attention = nn.Parameter(torch.zeros([]))
        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))
        self.gate_mlp = nn.Parameter(torch.zeros([]))

    def forward(self, X, pictures, is_picture):
        B, N, D = X.shape
        d = D // self.H
        queries, keys, values = self.to_queries(self.norm_text(X)), self.to_keys(pictures), self.to_values(pictures)
        rows = []
        for b in range(B):
            current, row = -1, []
            for n, starts in enumerate(is_picture[b].tolist()):
                current += starts
                q = queries[b, n].reshape(self.H, 1, d)
                k, v = (x[b, current].reshape(-1, self.H, d).swapaxes(0, 1) for x in (keys, values))
                mixed = (torch.softmax(q @ k.mT / d**0.5, -1) @ v).reshape(D)
                row.append(mixed if current >= 0 else 0 * mixed)
            rows.append(torch.stack(row))
        x = X + torch.tanh(self.gate_attention) * self.output(torch.stack(rows))
        return x + torch.tanh(self.gate_mlp) * self.mlp(self.norm_mlp(x))


@right("A softmax of one's own: exponentials are multiplied by the mask, the sum is kept from being zero")
class SoftmaxByHand(nn.Module):
    def __init__(self, D: int, H: int):
        super().__init__()
        self.H = H
        self.norm_text = nn.LayerNorm(D)
        self.to_queries, self.to_keys = nn.Linear(D, D, bias=False), nn.Linear(D, D, bias=False)
        self.to_values, self.output = nn.Linear(D, D, bias=False), nn.Linear(D, D, bias=False)
        self.register_parameter("gate_attention", nn.Parameter(torch.zeros(1).squeeze()))
        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))
        self.register_parameter("gate_mlp", nn.Parameter(torch.zeros(1).squeeze()))

    def forward(self, X, pictures, is_picture):
        B, N, D = X.shape
        P, R, H = pictures.shape[1], pictures.shape[2], self.H
        q = self.to_queries(self.norm_text(X)).reshape(B, N, H, D // H)
        k = self.to_keys(pictures).reshape(B, P, R, H, D // H)
        v = self.to_values(pictures).reshape(B, P, R, H, D // H)
        scores = torch.einsum("bnhd,bprhd->bnhpr", q, k) * (D / H) ** -0.5
        here = F.one_hot(is_picture.long().cumsum(1), P + 1)[..., 1:].bool()[:, :, None, :, None]
        scores = scores.masked_fill(~here, torch.finfo(scores.dtype).min)
        powers = (scores - scores.amax((-1, -2), keepdim=True)).exp() * here
        weights = powers / powers.sum((-1, -2), keepdim=True).clamp(min=0.5)
        attended = torch.einsum("bnhpr,bprhd->bnhd", weights, v).reshape(B, N, D)
        X = X + self.gate_attention.tanh() * self.output(attended)
        return X + self.gate_mlp.tanh() * self.mlp(self.norm_mlp(X))


@right(
    "The last picture token by cummax of positions, softmax with -inf for each picture, where() over the finished result"
)
class LastTokenByCummax(nn.Module):
    def __init__(self, D: int, H: int):
        super().__init__()
        self.H = H
        self.norm_text = nn.LayerNorm(D)
        self.to_queries = nn.Linear(D, D, bias=False)
        self.to_keys = nn.Linear(D, D, bias=False)
        self.to_values = nn.Linear(D, D, bias=False)
        self.output = nn.Linear(D, D, bias=False)
        self.gate_attention = nn.Parameter(torch.tensor(0.0))
        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))
        self.gate_mlp = nn.Parameter(torch.tensor(0.0))

    def forward(self, X, pictures, is_picture):
        B, N, D = X.shape
        P, R = pictures.shape[1:3]
        at = torch.arange(N, device=X.device)
        last = torch.where(is_picture, at, -1).cummax(1).values
        none = last < 0
        rank = torch.cat([is_picture.new_zeros(B, 1, dtype=torch.long), is_picture.long().cumsum(1)], 1)
        which = rank.gather(1, last.clamp(min=0)).clamp(max=P - 1)
        index = which[:, :, None, None].expand(B, N, R, D)
        keys = self.to_keys(pictures).gather(1, index).view(B, N, R, self.H, -1)
        values = self.to_values(pictures).gather(1, index).view(B, N, R, self.H, -1)
        queries = self.to_queries(self.norm_text(X)).view(B, N, 1, self.H, -1)
        weights = ((queries * keys).sum(-1) / math.sqrt(D // self.H)).softmax(2)
        attended = (weights[..., None] * values).sum(2).flatten(2)
        attended = torch.where(none[:, :, None], 0.0, attended)
        for gate, change in (
            (self.gate_attention, lambda x: self.output(attended)),
            (self.gate_mlp, lambda x: self.mlp(self.norm_mlp(x))),
        ):
            X = X + gate.tanh() * change(X)
        return X


@right("Positions are gathered picture by picture with nonzero and put back with index_put")
class GatheredWithNonzero(nn.Module):
    def __init__(self, D: int, H: int):
        super().__init__()
        self.H = H
        self.norm_text = nn.LayerNorm(D)
        self.to_queries, self.to_keys, self.to_values, self.output = [nn.Linear(D, D, bias=False) for _ in range(4)]
        self.gate_attention = nn.Parameter(torch.zeros(size=()))
        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))
        self.gate_mlp = nn.Parameter(torch.zeros(size=()))

    def forward(self, X, pictures, is_picture):
        counted = is_picture.cumsum(dim=1, dtype=torch.int64)
        rows, places = counted.nonzero(as_tuple=True)
        memory = pictures[rows, counted[rows, places] - 1]
        q = self.to_queries(self.norm_text(X)[rows, places]).unflatten(-1, (self.H, -1))
        k, v = (layer(memory).unflatten(-1, (self.H, -1)) for layer in (self.to_keys, self.to_values))
        weights = torch.einsum("thd,trhd->thr", q, k).div(math.sqrt(q.shape[-1])).softmax(-1)
        attended = self.output(torch.einsum("thr,trhd->thd", weights, v).flatten(1))
        X = X + torch.zeros_like(X).index_put((rows, places), attended) * torch.tanh(self.gate_attention)
        return X + self.mlp(self.norm_mlp(X)) * torch.tanh(self.gate_mlp)


# ---------------------------------------------------------------- wrong: concepts


class _Block(nn.Module):
    """The layers, and attention to the picture number which[b, n] (from 0; -1 for none) of each position."""

    def __init__(self, D: int, H: int):
        super().__init__()
        self.H = H
        self.norm_text = nn.LayerNorm(D)
        self.to_queries = nn.Linear(D, D, bias=False)
        self.to_keys = nn.Linear(D, D, bias=False)
        self.to_values = nn.Linear(D, D, bias=False)
        self.output = nn.Linear(D, D, bias=False)
        self.gate_attention = nn.Parameter(torch.zeros([]))
        self.norm_mlp = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))
        self.gate_mlp = nn.Parameter(torch.zeros([]))

    def split(self, x):
        return x.unflatten(-1, (self.H, -1)).transpose(-2, -3)

    def join(self, x):
        return x.transpose(-2, -3).flatten(-2)

    def look_up(self, pictures, which):
        """The R vectors for each position, [B, N, R, D], and whether there is a picture at all, [B, N, 1]."""
        rows = torch.arange(len(pictures), device=pictures.device)[:, None]
        return pictures[rows, which.clamp(0, pictures.shape[1] - 1)], (which >= 0)[..., None]

    def attend(self, x, pictures, which, scale=None):
        memory, seen = self.look_up(pictures, which)
        q = self.split(self.to_queries(x).unsqueeze(2))
        k, v = self.split(self.to_keys(memory)), self.split(self.to_values(memory))
        mixed = self.join(F.scaled_dot_product_attention(q, k, v, scale=scale)).squeeze(2)
        return mixed * seen

    def masked(self, x, pictures, allowed):
        """Attention to all P * R vectors under a mask [B, N, P * R]."""
        memory = pictures.flatten(1, 2)
        q, k, v = self.split(self.to_queries(x)), self.split(self.to_keys(memory)), self.split(self.to_values(memory))
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        return self.join(scores.masked_fill(~allowed[:, None], float("-inf")).softmax(-1) @ v)

    def finish(self, X, mixed):
        X = X + torch.tanh(self.gate_attention) * self.output(mixed)
        return X + torch.tanh(self.gate_mlp) * self.mlp(self.norm_mlp(X))


def _last(is_picture):
    return is_picture.long().cumsum(1) - 1


@wrong("a position attends to all pictures so far, not to the last one only", kind="concept")
class AllPicturesSoFar(_Block):
    def forward(self, X, pictures, is_picture):
        R = pictures.shape[2]
        number = _last(is_picture)[..., None]
        owner = torch.arange(pictures.shape[1], device=X.device).repeat_interleave(R)
        mixed = self.masked(self.norm_text(X), pictures, (owner <= number) | (number < 0)) * (number >= 0)
        return self.finish(X, mixed)


# Right, and not registered: answers below are changes of it.
class _PlainForward(_Block):
    def forward(self, X, pictures, is_picture):
        return self.finish(X, self.attend(self.norm_text(X), pictures, _last(is_picture)))


change(_PlainForward, "TokenSeesThePictureBefore", "the picture token itself still attends to the picture before: its "
       "own counts from the next position on", "concept",
       before("return", "which = _last(is_picture) - is_picture.long()"), ("_last(is_picture)", "which"))


@wrong("counted from the end: positions attend to the next picture whose token is still to come", kind="concept")
class PictureToCome(_Block):
    def forward(self, X, pictures, is_picture):
        total = is_picture.long().sum(1, keepdim=True)
        which = total - is_picture.long().flip(1).cumsum(1).flip(1)
        which = torch.where(which < total, which, -1)
        return self.finish(X, self.attend(self.norm_text(X), pictures, which))


change(_PlainForward, "LastOfTheRow",
       "all positions attend to the last picture of the row, also those before it", "concept",
       before("return", "which = _last(is_picture)[:, -1:].expand(is_picture.shape)"), ("_last(is_picture)", "which"))


@wrong("a position before any picture attends to the last one: index -1", kind="concept")
class BeforeAnyTheLast(_Block):
    def forward(self, X, pictures, is_picture):
        which = _last(is_picture)
        which = torch.where(which < 0, pictures.shape[1] - 1, which)
        return self.finish(X, self.attend(self.norm_text(X), pictures, which))


@wrong("a position before any picture gets NaN: softmax over -inf alone", kind="numerics")
class BeforeAnyNan(_Block):
    def forward(self, X, pictures, is_picture):
        P, R = pictures.shape[1:3]
        owner = torch.arange(P, device=X.device).repeat_interleave(R)
        mixed = self.masked(self.norm_text(X), pictures, owner == _last(is_picture)[..., None])
        return self.finish(X, mixed)


change(_PlainForward, "OnlyPictureTokens",
       "only the picture tokens themselves attend to their pictures; text gets zero", "concept",
       before("return", "which = torch.where(is_picture, _last(is_picture), -1)"), ("_last(is_picture)", "which"))
change(_PlainForward, "CountedOverTheBatch",
       "picture tokens are counted over the batch, not along the row (cumsum over axis 0)", "concept",
       ("_last(is_picture)", "is_picture.long().cumsum(0) - 1"))
change(_PlainForward, "FirstRowsPictures", "all rows look into the first row's pictures", "concept",
       before("return", "pictures = pictures[:1].expand(pictures.shape)"))


# Right, and not registered: answers below are changes of it.
class _Plain(_Block):
    def forward(self, X, pictures, is_picture):
        mixed = self.attend(self.norm_text(X), pictures, _last(is_picture))
        X = X + torch.tanh(self.gate_attention) * self.output(mixed)
        return X + torch.tanh(self.gate_mlp) * self.mlp(self.norm_mlp(X))


change(_Plain, "SigmoidGates", "the gates go through a sigmoid, so that a new block is not the identity", "concept",
       (".tanh", ".sigmoid", 2))
change(_Plain, "GatesSwapped", "the two gates are swapped", "concept",
       (".gate_attention", ".gate_mlp"), (".gate_mlp", ".gate_attention"))
change(_Plain, "MlpWithoutGate", "the MLP has no gate", "concept",
       ("torch.tanh(self.gate_mlp) * self", "self"))
change(_PlainForward, "ResidualOfTheNorm", "the residual of the attention adds the normed text", "concept",
       before("return", "X = self.norm_text(X)"), ("self.norm_text(X)", "X"))
change(_Plain, "InParallel",
       "the MLP gets the block's input, not what the attention made of it (both in parallel)", "concept",
       ("X =", "new ="), ("return X", "return new"))
change(_PlainForward, "QueriesNotNormed", "queries come from the text without norm_text", "concept",
       ("self.norm_text(X)", "X"))
change(_Plain, "MlpNotNormed", "the MLP is without norm_mlp", "concept",
       ("self.norm_mlp(X)", "X"))
change(_PlainForward, "ScaledByD", "scores are divided by sqrt(D), not sqrt(D/H)", "concept",
       before("return", "scale = X.shape[-1] ** -0.5"), ("_last(is_picture)", "_last(is_picture), scale=scale"))


@wrong("H is ignored: one head of width D", kind="concept")
class OneHead(_Block):
    def split(self, x):
        return x.unsqueeze(-3)

    def join(self, x):
        return x.squeeze(-3)

    def forward(self, X, pictures, is_picture):
        return self.finish(X, self.attend(self.norm_text(X), pictures, _last(is_picture)))


@wrong("to_values is applied to the keys, not to the pictures", kind="concept")
class ValuesOfKeys(_Block):
    def attend(self, x, pictures, which):
        memory, seen = self.look_up(pictures, which)
        q, k = self.split(self.to_queries(x).unsqueeze(2)), self.to_keys(memory)
        mixed = F.scaled_dot_product_attention(q, self.split(k), self.split(self.to_values(k)))
        return self.join(mixed).squeeze(2) * seen

    def forward(self, X, pictures, is_picture):
        return self.finish(X, self.attend(self.norm_text(X), pictures, _last(is_picture)))


change(_PlainForward, "FirstVectorOnly", "of each picture only the first vector is looked at, not all R", "concept",
       ("self.norm_text(X), pictures", "self.norm_text(X), pictures[:, :, :1]"))


@wrong(
    "the P * R vectors are counted with the wrong axis inside: vector i is taken for one of picture i % P",
    kind="concept",
)
class OwnersInterleaved(_Block):
    def forward(self, X, pictures, is_picture):
        P, R = pictures.shape[1:3]
        which = _last(is_picture)[..., None]
        owner = torch.arange(P, device=X.device).repeat(R)
        mixed = self.masked(self.norm_text(X), pictures, (owner == which) | (which < 0))
        return self.finish(X, mixed * (which >= 0))


# ---------------------------------------------------------------- wrong: modules


@wrong("the gates start at 1, so that a new block is not the identity", kind="module")
class GatesStartOpen(_Block):
    def __init__(self, D: int, H: int):
        super().__init__(D, H)
        self.gate_attention, self.gate_mlp = nn.Parameter(torch.ones([])), nn.Parameter(torch.ones([]))

    def forward(self, X, pictures, is_picture):
        return self.finish(X, self.attend(self.norm_text(X), pictures, _last(is_picture)))


change(GatesStartOpen, "GatesOfShapeD", "the gates are vectors of D entries, one for each feature", "module",
       ("nn.Parameter(torch.ones([])), nn.Parameter(torch.ones([]))",
        "nn.Parameter(torch.zeros(D)), nn.Parameter(torch.zeros(D))"))


@wrong("projections and output have a bias", kind="module")
class WithBias(_Block):
    def __init__(self, D: int, H: int):
        super().__init__(D, H)
        self.to_queries, self.to_keys, self.to_values, self.output = (nn.Linear(D, D) for _ in range(4))

    def forward(self, X, pictures, is_picture):
        return self.finish(X, self.attend(self.norm_text(X), pictures, _last(is_picture)))


# ---------------------------------------------------------------- wrong: the rest


@wrong("counts of picture tokens index the pictures directly: fails where a row has P of them", kind="edge")
class IndexOutOfRange(_Block):
    def forward(self, X, pictures, is_picture):
        rows = torch.arange(len(X), device=X.device)[:, None]
        number = is_picture.long().cumsum(1)
        memory = pictures[rows, number]
        q = self.split(self.to_queries(self.norm_text(X)).unsqueeze(2))
        mixed = F.scaled_dot_product_attention(q, self.split(self.to_keys(memory)), self.split(self.to_values(memory)))
        return self.finish(X, self.join(mixed).squeeze(2) * (number > 0)[..., None])


change(_Plain, "AddedInPlace", "X is changed in place", "interface",
       ("X = X +", "X.data +="))


@wrong("exp without subtracting the largest score: inf / inf with large scores", kind="numerics")
class SoftmaxOverflows(_Block):
    def attend(self, x, pictures, which):
        memory, seen = self.look_up(pictures, which)
        q, k, v = (
            self.split(self.to_queries(x).unsqueeze(2)),
            self.split(self.to_keys(memory)),
            self.split(self.to_values(memory)),
        )
        weights = torch.exp(q @ k.mT / math.sqrt(q.shape[-1]))
        return self.join(weights / weights.sum(-1, keepdim=True) @ v).squeeze(2) * seen

    def forward(self, X, pictures, is_picture):
        return self.finish(X, self.attend(self.norm_text(X), pictures, _last(is_picture)))


change(_PlainForward, "PicturesDetached", "the pictures are detached, so no gradient reaches them", "gradient",
       ("self.norm_text(X), pictures", "self.norm_text(X), pictures.detach()"))
