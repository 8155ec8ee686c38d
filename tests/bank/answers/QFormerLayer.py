"""Answers to QFormerLayer (assignment 17)."""

import math

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong
from torch import nn


class _Given(nn.Module):
    """The layers, as the stub gives them."""

    def __init__(self, D: int, H: int, D_P: int, F: int):
        super().__init__()
        self.H = H
        self.own_queries, self.own_keys, self.own_values, self.own_output = (nn.Linear(D, D) for _ in range(4))
        self.norm_own = nn.LayerNorm(D)
        self.cross_queries, self.cross_output = nn.Linear(D, D), nn.Linear(D, D)
        self.cross_keys, self.cross_values = nn.Linear(D_P, D), nn.Linear(D_P, D)
        self.norm_cross = nn.LayerNorm(D)
        self.mlp_queries = nn.Sequential(nn.Linear(D, F), nn.GELU(), nn.Linear(F, D))
        self.norm_queries = nn.LayerNorm(D)
        self.mlp_text = nn.Sequential(nn.Linear(D, F), nn.GELU(), nn.Linear(F, D))
        self.norm_text = nn.LayerNorm(D)


# ---------------------------------------------------------------- right


@right("scaled_dot_product_attention with a mask for all heads, one helper for both attentions")
class FusedAttention(_Given):
    def forward(self, queries, text, picture, allowed):
        def attend(q, k, v, mask=None):
            q, k, v = (x.unflatten(-1, (self.H, -1)).transpose(1, 2) for x in (q, k, v))
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)

        x = torch.cat([queries, text], dim=1)
        out = attend(self.own_queries(x), self.own_keys(x), self.own_values(x), allowed.unsqueeze(1))
        x = self.norm_own(x + self.own_output(out))
        queries, text = x.split([queries.shape[1], text.shape[1]], dim=1)
        if picture is not None:
            out = attend(self.cross_queries(queries), self.cross_keys(picture), self.cross_values(picture))
            queries = self.norm_cross(queries + self.cross_output(out))
        return self.norm_queries(queries + self.mlp_queries(queries)), self.norm_text(text + self.mlp_text(text))


@right("A loop over the heads, columns of the vectors by chunk, the heads glued at the end")
class HeadByHead(_Given):
    def forward(self, queries, text, picture, allowed):
        Q = queries.size(1)
        x = torch.hstack((queries, text))
        triples = zip(*(layer(x).chunk(self.H, dim=-1) for layer in (self.own_queries, self.own_keys, self.own_values)))
        heads = []
        for q, k, v in triples:
            scores = q @ k.mT / math.sqrt(q.size(-1))
            heads.append(scores.masked_fill(~allowed, float("-inf")).softmax(-1) @ v)
        x = self.norm_own(self.own_output(torch.cat(heads, dim=-1)) + x)
        looking, reading = x[:, :Q], x[:, Q:]
        if picture is not None:
            q, k, v = self.cross_queries(looking), self.cross_keys(picture), self.cross_values(picture)
            heads = [
                (a @ b.mT / math.sqrt(a.size(-1))).softmax(-1) @ c
                for a, b, c in zip(q.chunk(self.H, -1), k.chunk(self.H, -1), v.chunk(self.H, -1))
            ]
            looking = self.norm_cross(self.cross_output(torch.cat(heads, -1)) + looking)
        return self.norm_queries(self.mlp_queries(looking) + looking), self.norm_text(self.mlp_text(reading) + reading)


@right("einsum, the queries scaled before the product, the softmax by logsumexp")
class ByEinsum(_Given):
    def heads(self, x):
        return x.reshape(*x.shape[:2], self.H, x.shape[2] // self.H)

    def mix(self, q, k, v, mask):
        q, k, v = self.heads(q), self.heads(k), self.heads(v)
        scores = torch.einsum("bnhd,bmhd->bhnm", q * q.shape[-1] ** -0.5, k)
        scores = torch.where(mask[:, None], scores, scores.new_tensor(-torch.inf))
        weights = (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()
        return torch.einsum("bhnm,bmhd->bnhd", weights, v).reshape(q.shape[0], q.shape[1], -1)

    def forward(self, queries, text, picture, allowed):
        Q = queries.shape[1]
        both = torch.concat([queries, text], 1)
        mixed = self.mix(self.own_queries(both), self.own_keys(both), self.own_values(both), allowed)
        both = self.norm_own(both + self.own_output(mixed))
        queries, text = both[:, :Q], both[:, Q:]
        if picture is not None:
            every = torch.ones(len(picture), Q, picture.shape[1], dtype=torch.bool, device=picture.device)
            mixed = self.mix(self.cross_queries(queries), self.cross_keys(picture), self.cross_values(picture), every)
            queries = self.norm_cross(queries + self.cross_output(mixed))
        return self.norm_queries(queries + self.mlp_queries(queries)), self.norm_text(text + self.mlp_text(text))


@right("torch's functional multi-head attention, fed with the layers' weights and the inverted mask")
class FunctionalMultiHead(_Given):
    def attention(self, to_q, to_k, to_v, out, x, source, forbidden):
        result, _ = F.multi_head_attention_forward(
            x.transpose(0, 1),
            source.transpose(0, 1),
            source.transpose(0, 1),
            embed_dim_to_check=x.shape[-1],
            num_heads=self.H,
            in_proj_weight=None,
            in_proj_bias=torch.cat([to_q.bias, to_k.bias, to_v.bias]),
            bias_k=None,
            bias_v=None,
            add_zero_attn=False,
            dropout_p=0.0,
            out_proj_weight=out.weight,
            out_proj_bias=out.bias,
            training=False,
            need_weights=False,
            attn_mask=forbidden,
            use_separate_proj_weight=True,
            q_proj_weight=to_q.weight,
            k_proj_weight=to_k.weight,
            v_proj_weight=to_v.weight,
        )
        return result.transpose(0, 1)

    def forward(self, queries, text, picture, allowed):
        x = torch.cat((queries, text), dim=1)
        own = self.own_queries, self.own_keys, self.own_values, self.own_output
        x = self.norm_own(x + self.attention(*own, x, x, (~allowed).repeat_interleave(self.H, dim=0)))
        queries, text = torch.tensor_split(x, [queries.shape[1]], dim=1)
        if picture is not None:
            cross = self.cross_queries, self.cross_keys, self.cross_values, self.cross_output
            queries = self.norm_cross(queries + self.attention(*cross, queries, picture, None))
        queries = self.norm_queries(queries + self.mlp_queries(queries))
        return queries, self.norm_text(text + self.mlp_text(text))


@right("A softmax by hand: the largest allowed score is taken off, what is forbidden multiplied by 0")
class SoftmaxByHand(_Given):
    def attend(self, q, k, v, mask):
        B, N, D = q.shape
        q, k, v = (x.reshape(B, -1, self.H, D // self.H).permute(0, 2, 1, 3) for x in (q, k, v))
        scores = torch.matmul(q, k.transpose(2, 3)) * (self.H / D) ** 0.5
        mask = mask.unsqueeze(1).expand_as(scores)
        top = scores.masked_fill(~mask, -math.inf).max(dim=-1, keepdim=True).values
        raised = torch.exp((scores - top).masked_fill(~mask, 0)) * mask.to(scores.dtype)
        return (raised / raised.sum(-1, keepdim=True)).matmul(v).permute(0, 2, 1, 3).reshape(B, N, D)

    def forward(self, queries, text, picture, allowed):
        x = torch.cat([queries, text], dim=-2)
        read = self.attend(self.own_queries(x), self.own_keys(x), self.own_values(x), allowed)
        x = self.norm_own(x + self.own_output(read))
        queries, text = x.narrow(1, 0, queries.shape[1]), x.narrow(1, queries.shape[1], text.shape[1])
        if picture is not None:
            k, v = self.cross_keys(picture), self.cross_values(picture)
            every = torch.ones((), dtype=torch.bool, device=k.device).expand(len(k), queries.shape[1], k.shape[1])
            seen = self.cross_output(self.attend(self.cross_queries(queries), k, v, every))
            queries = self.norm_cross(queries + seen)
        return self.norm_queries(queries + self.mlp_queries(queries)), self.norm_text(text + self.mlp_text(text))


@right("Each position gathers the rows it may see and attends to these alone, picture by picture")
class OnlyWhatIsAllowed(_Given):
    def one(self, q, k, v):
        """q: [D]; k, v: [K, D]."""
        q, k, v = (x.reshape(-1, self.H, x.shape[-1] // self.H) for x in (q, k, v))
        weights = ((q * k).sum(-1) / math.sqrt(q.shape[-1])).softmax(dim=0)
        return (weights.unsqueeze(-1) * v).sum(0).reshape(-1)

    def forward(self, queries, text, picture, allowed):
        new_queries, new_text = [], []
        for b in range(queries.shape[0]):
            x = torch.cat([queries[b], text[b]])
            q, k, v = self.own_queries(x), self.own_keys(x), self.own_values(x)
            read = torch.stack([self.one(q[i], k[may], v[may]) for i, may in enumerate(allowed[b])])
            x = self.norm_own(x + self.own_output(read))
            looking, reading = x[: queries.shape[1]], x[queries.shape[1] :]
            if picture is not None:
                k, v = self.cross_keys(picture[b]), self.cross_values(picture[b])
                seen = torch.stack([self.one(q, k, v) for q in self.cross_queries(looking)])
                looking = self.norm_cross(looking + self.cross_output(seen))
            new_queries.append(self.norm_queries(looking + self.mlp_queries(looking)))
            new_text.append(self.norm_text(reading + self.mlp_text(reading)))
        return torch.stack(new_queries), torch.stack(new_text)


@right("Heads folded into the batch, baddbmm onto an additive mask of 0 and -inf")
class FoldedHeads(_Given):
    def fold(self, x):
        B, N, D = x.shape
        return x.view(B, N, self.H, D // self.H).transpose(1, 2).reshape(B * self.H, N, D // self.H)

    def attend(self, q, k, v, added):
        B, N, D = q.shape
        q, k, v = self.fold(q), self.fold(k), self.fold(v)
        scores = torch.baddbmm(added, q, k.transpose(1, 2), alpha=1 / math.sqrt(q.shape[-1]))
        out = torch.bmm(torch.softmax(scores, dim=2), v)
        return out.reshape(B, self.H, N, -1).transpose(1, 2).reshape(B, N, D)

    def forward(self, queries, text, picture, allowed):
        x, Q = torch.cat((queries, text), 1), queries.shape[1]
        added = x.new_zeros(allowed.shape).masked_fill(allowed.logical_not(), -math.inf).repeat_interleave(self.H, 0)
        x = x + self.own_output(self.attend(self.own_queries(x), self.own_keys(x), self.own_values(x), added))
        x = self.norm_own(x)
        pair = [x[:, :Q], x[:, Q:]]
        if picture is not None:
            k, v = self.cross_keys(picture), self.cross_values(picture)
            pair[0] = pair[0] + self.cross_output(self.attend(self.cross_queries(pair[0]), k, v, k.new_zeros(1, 1, 1)))
            pair[0] = self.norm_cross(pair[0])
        layers = (self.mlp_queries, self.norm_queries), (self.mlp_text, self.norm_text)
        return tuple(norm(x + mlp(x)) for x, (mlp, norm) in zip(pair, layers))


# ---------------------------------------------------------------- wrong


class _Parts(_Given):
    """The layer in steps."""

    def split(self, x):
        return x.unflatten(-1, (self.H, -1)).transpose(1, 2)

    def merge(self, x):
        return x.transpose(1, 2).flatten(2)

    def scale(self, q):
        return q.shape[-1] ** -0.5

    def weights(self, scores, allowed):
        if allowed is not None:
            scores = scores.masked_fill(~allowed[:, None], float("-inf"))
        return scores.softmax(-1)

    def attend(self, q, k, v, allowed=None):
        q, k, v = self.split(q), self.split(k), self.split(v)
        return self.merge(self.weights(q @ k.mT * self.scale(q), allowed) @ v)

    def own(self, x, allowed):
        return self.own_output(self.attend(self.own_queries(x), self.own_keys(x), self.own_values(x), allowed))

    def cross(self, x, picture):
        return self.cross_output(
            self.attend(self.cross_queries(x), self.cross_keys(picture), self.cross_values(picture))
        )

    def first(self, queries, text, allowed):
        x = torch.cat([queries, text], dim=1)
        x = self.norm_own(x + self.own(x, allowed))
        return x[:, : queries.shape[1]], x[:, queries.shape[1] :]

    def second(self, queries, text, picture):
        if picture is not None:
            queries = self.norm_cross(queries + self.cross(queries, picture))
        return queries, text

    def third(self, queries, text):
        return self.norm_queries(queries + self.mlp_queries(queries)), self.norm_text(text + self.mlp_text(text))

    def forward(self, queries, text, picture, allowed):
        queries, text = self.first(queries, text, allowed)
        queries, text = self.second(queries, text, picture)
        return self.third(queries, text)


@wrong("pre-norm: the norms stand before attention and MLP, not behind the residual", kind="concept")
class PreNorm(_Parts):
    def first(self, queries, text, allowed):
        x = torch.cat([queries, text], dim=1)
        x = x + self.own(self.norm_own(x), allowed)
        return x[:, : queries.shape[1]], x[:, queries.shape[1] :]

    def second(self, queries, text, picture):
        if picture is not None:
            queries = queries + self.cross(self.norm_cross(queries), picture)
        return queries, text

    def third(self, queries, text):
        return queries + self.mlp_queries(self.norm_queries(queries)), text + self.mlp_text(self.norm_text(text))


change(_Parts.first, "NormInsideTheResidual",
       "the norm is laid around the self-attention alone: x + norm(f(x))", "concept",
       ("self.norm_own(x + self.own(x, allowed))", "x + self.norm_own(self.own(x, allowed))"))


@wrong("no residual around the cross-attention", kind="concept")
class CrossWithoutResidual(_Parts):
    def second(self, queries, text, picture):
        return queries if picture is None else self.norm_cross(self.cross(queries, picture)), text


change(_Parts.third, "TextWithoutResidual", "no residual around the text's MLP", "concept",
       ("text + self.mlp_text(text)", "self.mlp_text(text)"))
change(_Parts.second, "TextLooksToo", "the text attends to the picture too", "concept",
       ("queries = self.norm_cross(queries + self.cross(queries, picture))",
        "queries, text = (self.norm_cross(x + self.cross(x, picture)) for x in (queries, text))"))


@wrong("the text goes through mlp_queries and norm_queries, as the queries do", kind="concept")
class OneMlpForBoth(_Parts):
    def third(self, queries, text):
        queries, text = (self.norm_queries(x + self.mlp_queries(x)) for x in (queries, text))
        return queries, text


change(_Parts.second, "WrongNormAfterCross",
       "norm_own is used after the cross-attention in place of norm_cross", "concept",
       (".norm_cross", ".norm_own"))


@wrong("without a picture the queries are still put through norm_cross", kind="concept")
class NormWithoutPicture(_Parts):
    def second(self, queries, text, picture):
        seen = 0 if picture is None else self.cross(queries, picture)
        return self.norm_cross(queries + seen), text


change(_Parts.forward, "CrossFirst", "the cross-attention comes before the self-attention", "concept",
       (".first(queries, text, allowed)", ".second(queries, text, picture)"),
       (".second(queries, text, picture)", ".first(queries, text, allowed)"))
change(_Parts.forward, "CrossFromTheInput", "the cross-attention's queries are made of the layer's input, not of what "
       "the self-attention returned", "concept",
       before("queries, text = self.first(queries, text, allowed)", "old = queries"),
       ("queries, text = self.second(queries, text, picture)", """
        if picture is not None:
            queries = self.norm_cross(queries + self.cross(old, picture))"""))


@wrong("the output layer of the cross-attention is left out", kind="concept")
class CrossWithoutOutput(_Parts):
    def cross(self, x, picture):
        return self.attend(self.cross_queries(x), self.cross_keys(picture), self.cross_values(picture))


change(_Parts.cross, "KeysForValues", "keys and values of the cross-attention are swapped", "concept",
       ("self.cross_keys(picture), self.cross_values(picture)",
        "self.cross_values(picture), self.cross_keys(picture)"))


@wrong("the mask is inverted: positions attend to what is not allowed", kind="concept")
class MaskInverted(_Parts):
    def first(self, queries, text, allowed):
        return super().first(queries, text, ~allowed)


change(MaskInverted, "MaskIgnored", "the mask is ignored: everybody attends to everybody", "concept",
       ("~allowed", "None"))
change(MaskInverted, "MaskTransposed", "the mask is transposed: rows and columns are swapped", "concept",
       ("~allowed", "allowed.transpose(1, 2)"))


@wrong("the weights are set to 0 after the softmax and not made to sum to 1 again", kind="concept")
class MaskAfterSoftmax(_Parts):
    def weights(self, scores, allowed):
        weights = scores.softmax(-1)
        return weights if allowed is None else weights * allowed[:, None].to(weights.dtype)


change(_Parts.scale, "ScaleOfAllHeads", "scores are divided by sqrt(D), not by sqrt(D/H)", "concept",
       ("q.shape[-1]", "(q.shape[-1] * self.H)"))
change(_Parts.weights, "SoftmaxOverRows", "the softmax runs over the queries' axis, not over the keys'", "concept",
       ('float("-inf")', "torch.finfo(scores.dtype).min"), (".softmax(-1)", ".softmax(-2)"))


@wrong("heads are split by a reshape to [B, H, N, D/H] without a transposition, which mixes positions", kind="layout")
class SplitWithoutTransposition(_Parts):
    def split(self, x):
        return x.reshape(x.shape[0], self.H, x.shape[1], x.shape[2] // self.H)

    def merge(self, x):
        return x.reshape(x.shape[0], x.shape[2], -1)


change(_Parts.first, "TakenApartWrongly",
       "the first N rows of the self-attention's result are taken for the text, the rest for the queries", "concept",
       ("x[:, : queries.shape[1]], x[:, queries.shape[1] :]", "x[:, text.shape[1] :], x[:, : text.shape[1]]"))
change(_Parts.weights, "MinusTenThousand",
       "-10000 is added to forbidden scores, as old BERT does: large scores get through the mask", "numerics",
       ('scores = scores.masked_fill(~allowed[:, None], float("-inf"))',
        "scores = scores + (1 - allowed[:, None].to(scores.dtype)) * -10000.0"))


@wrong("dropout of 0.1 on the attention's weights, in training mode", kind="process")
class WithDropout(_Parts):
    def weights(self, scores, allowed):
        return F.dropout(super().weights(scores, allowed), 0.1, self.training)


@wrong("the given queries are overwritten by what the attentions return", kind="interface")
class WrittenIntoTheQueries(_Parts):
    def forward(self, queries, text, picture, allowed):
        new_queries, text = self.second(*self.first(queries, text, allowed), picture)
        with torch.no_grad():
            queries.copy_(new_queries)
        return self.third(new_queries, text)
