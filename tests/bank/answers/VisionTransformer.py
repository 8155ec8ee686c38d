"""Answers for VisionTransformer (assignment 13, exercise 6)."""

import copy
import functools
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from answers import after, before, change, right, wrong


def _layer(D, H, D_F, **settings):
    chosen = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True, **settings}
    return nn.TransformerEncoderLayer(D, H, D_F, **chosen)


class _Base(nn.Module):
    """A right model whose parts can be replaced."""

    def __init__(self, D, H, D_F, depth, classes, mean_pooling):
        super().__init__()
        self.mean_pooling = mean_pooling
        self.blocks = nn.ModuleList(self.make_block(D, H, D_F) for _ in range(depth))
        self.norm = nn.LayerNorm(D)
        self.head = nn.Linear(D, classes)

    def make_block(self, D, H, D_F):
        return _layer(D, H, D_F)

    def encode(self, X):
        for block in self.blocks:
            X = block(X)
        return self.norm(X)

    def pool(self, Y):
        return Y[:, 1:].mean(dim=1) if self.mean_pooling else Y[:, 0]

    def forward(self, X):
        return self.head(self.pool(self.encode(X)))


# -------------------- right


@right("written as the text says, with the pooling as an if statement")
class Plain(nn.Module):
    def __init__(self, D, H, D_F, depth, classes, mean_pooling):
        super().__init__()
        self.blocks = nn.ModuleList()
        for _ in range(depth):
            self.blocks.append(
                nn.TransformerEncoderLayer(
                    D, H, dim_feedforward=D_F, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
                )
            )
        self.norm = nn.LayerNorm(D)
        self.head = nn.Linear(D, classes)
        self.mean_pooling = mean_pooling

    def forward(self, X):
        for block in self.blocks:
            X = block(X)
        X = self.norm(X)
        if self.mean_pooling:
            pooled = X[:, 1:].mean(1)
        else:
            pooled = X[:, 0]
        return self.head(pooled)


@right("the head acts on every token, and the logits are averaged; a linear layer allows it")
class HeadFirst(_Base):
    def forward(self, X):
        logits = self.head(self.encode(X))
        return logits[:, 1:].mean(1) if self.mean_pooling else logits[:, 0]


@right("functools.reduce over the blocks, tensor_split for the pooling")
class ByReduce(_Base):
    def forward(self, X):
        Y = self.norm(functools.reduce(lambda x, block: block(x), self.blocks, X))
        first, patches = Y.tensor_split([1], dim=1)
        chosen = patches if self.mean_pooling else first
        return self.head(chosen.mean(1))


@right("a row of weights over the tokens, 0 or 1/N, and an einsum")
class ByWeights(_Base):
    def pool(self, Y):
        tokens = Y.shape[1]
        weights = Y.new_zeros(tokens)
        if self.mean_pooling:
            weights[1:] = 1 / (tokens - 1)
        else:
            weights[0] = 1
        return torch.einsum("n,bnd->bd", weights, Y)


@right("one image after another, stacked at the end")
class OneByOne(_Base):
    def forward(self, X):
        logits = []
        for image in X:
            Y = self.encode(image.unsqueeze(0)).squeeze(0)
            y = Y[1:].sum(0) / (len(Y) - 1) if self.mean_pooling else Y[0]
            logits.append(self.head(y))
        return torch.stack(logits)


@right("average pooling over the axis of the patches by F.adaptive_avg_pool1d")
class ByAveragePooling(_Base):
    def pool(self, Y):
        if not self.mean_pooling:
            return Y.narrow(1, 0, 1).flatten(1)
        return F.adaptive_avg_pool1d(Y[:, 1:].transpose(1, 2), 1).flatten(1)


@right("the norm and the head as functions of their weights; without mean pooling only the class token is normalised")
class Functional(_Base):
    def forward(self, X):
        for block in self.blocks:
            X = block(X)
        X = X[:, 1:] if self.mean_pooling else X[:, :1]
        Y = F.layer_norm(X, X.shape[-1:], self.norm.weight, self.norm.bias, self.norm.eps)
        return F.linear(Y.mean(dim=-2), self.head.weight, self.head.bias)


@right("the blocks are recomputed in the backward pass (checkpoint)")
class Checkpointed(_Base):
    def encode(self, X):
        for block in self.blocks:
            X = checkpoint(block, X, use_reentrant=False)
        return self.norm(X)


@right("the blocks' steps are written out, with scaled_dot_product_attention on the blocks' own weights")
class WrittenOut(_Base):
    def encode(self, X):
        for block in self.blocks:
            attention = block.self_attn
            projected = F.linear(block.norm1(X), attention.in_proj_weight, attention.in_proj_bias)
            Q, K, V = (t.unflatten(-1, (attention.num_heads, -1)).transpose(1, 2) for t in projected.chunk(3, dim=-1))
            mixed = F.scaled_dot_product_attention(Q, K, V).transpose(1, 2).flatten(2)
            X = X + attention.out_proj(mixed)
            X = X + block.linear2(F.gelu(block.linear1(block.norm2(X))))
        return self.norm(X)


class _ClassPooling(nn.Module):
    def forward(self, Y):
        return Y.select(1, 0)


class _MeanPooling(nn.Module):
    def forward(self, Y):
        total = functools.reduce(torch.add, Y.unbind(1)[1:])
        return total / (Y.size(1) - 1)


@right("the pooling is a module of its own, without weights, chosen in __init__")
class PoolingModules(_Base):
    def __init__(self, D, H, D_F, depth, classes, mean_pooling):
        super().__init__(D, H, D_F, depth, classes, mean_pooling)
        self.pool_layer = (_ClassPooling, _MeanPooling)[bool(mean_pooling)]()

    def pool(self, Y):
        return self.pool_layer(Y)


@right("a function for the activation, F.gelu, and a recursion over the blocks")
class Recursive(_Base):
    def make_block(self, D, H, D_F):
        return nn.TransformerEncoderLayer(D, H, D_F, 0.0, F.gelu, 1e-5, True, True)

    def encode(self, X, at=0):
        return self.norm(X) if at == len(self.blocks) else self.encode(self.blocks[at](X), at + 1)


@right("the mean of the patches from that of all tokens: the class token is set to zero by a mask first")
class ByMask(_Base):
    def pool(self, Y):
        patch = torch.arange(Y.shape[1], device=Y.device) > 0
        if self.mean_pooling:
            return Y.masked_fill(~patch[None, :, None], 0).sum(1) / patch.sum()
        return Y.masked_fill(patch[None, :, None], 0).sum(1)


# -------------------- wrong: misunderstandings


change(_Base.pool, "MeanWithClassToken", "the mean is taken over all tokens, so the class token counts too", "concept",
       ("Y[:, 1:].mean(dim=1)", "Y.mean(1)"))
change(_Base.pool, "DividedByAllTokens", "the sum of the patches is divided by N + 1 instead of N", "concept",
       (".mean(dim=1)", ".sum(1) / Y.shape[1]"))
change(_Base.pool, "LastToken",
       "without mean pooling the logits come from the last token instead of the class token", "concept",
       ("dim=1", "1"), ("Y[:, 0]", "Y[:, -1]"))
change(_Base.pool, "MeanWithoutTheLast",
       "the mean leaves out the last patch and takes in the class token: Y[:, :-1]", "concept",
       ("Y[:, 1:].mean(dim=1)", "Y[:, :-1].mean(1)"))


@wrong("the two poolings are exchanged: mean_pooling=True takes the class token", kind="concept")
class PoolingsExchanged(_Base):
    def pool(self, Y):
        return Y[:, 0] if self.mean_pooling else Y[:, 1:].mean(1)


change(_Base.forward, "NormOfMean", "the norm comes after the mean instead of before it: the norm of a mean", "concept",
       before("return", """
        for block in self.blocks:
            X = block(X)"""),
       (".pool(self.encode(X))", ".norm(self.pool(X))"))
change(_Base.encode, "NormForgotten", "the norm after the last block is made but not applied", "concept",
       ("self.norm(X)", "X"))
change(_Base.encode, "NormInFront", "the norm is applied before the first block instead of after the last", "concept",
       before("for", "X = self.norm(X)"), ("self.norm(X)", "X"))
change(_Base.encode, "NormAfterEachBlock", "the norm is applied after every block, not only after the last", "concept",
       ("block(X)", "self.norm(block(X))"), ("self.norm(X)", "X"))
change(_Base.encode, "NormForClassTokenOnly",
       "the norm is applied only where the class token is pooled; the mean is taken of the raw stream", "concept",
       ("self.norm(X)", "X if self.mean_pooling else self.norm(X)"))
change(_Base.make_block, "PostNorm", "the blocks are post-norm: norm_first is left at its default", "module",
       ("_layer(D, H, D_F)",
        'nn.TransformerEncoderLayer(D, H, D_F, dropout=0.0, activation="gelu", batch_first=True)'))
change(_Base.make_block, "Relu", "the blocks use relu: activation is left at its default", "module",
       ("_layer(D, H, D_F)", "nn.TransformerEncoderLayer(D, H, D_F, dropout=0.0, batch_first=True, norm_first=True)"))


@wrong("dropout is left at its default of 0.1: in training mode the results are random", kind="module")
class DropoutLeft(_Base):
    def make_block(self, D, H, D_F):
        return nn.TransformerEncoderLayer(D, H, D_F, activation="gelu", batch_first=True, norm_first=True)


change(_Base.make_block, "BatchSecond",
       "batch_first is left at False: the images attend to each other and the tokens do not", "module",
       ("_layer(D, H, D_F)", 'nn.TransformerEncoderLayer(D, H, D_F, dropout=0.0, activation="gelu", norm_first=True)'))


# Right, and not registered: answers below are changes of it.
class _Plain(_Base):
    def __init__(self, D, H, D_F, depth, classes, mean_pooling):
        super().__init__(D, H, D_F, depth, classes, mean_pooling)


change(_Plain, "OneBlockShared",
       "one block stands depth times in the list, so all blocks share their weights", "module",
       after("super().__init__(D, H, D_F, depth, classes, mean_pooling)",
             "self.blocks = nn.ModuleList([_layer(D, H, D_F)] * depth)"))
change(_Base.encode, "FirstBlockRepeated", "only the first block is used, and it is applied depth times", "concept",
       ("for block", "for _"), ("block(X)", "self.blocks[0](X)"))
change(_Base.encode, "LastBlockLeftOut", "the last block is left out of the loop", "concept",
       ("block in self.blocks", "i in range(len(self.blocks) - 1)"), ("block(X)", "self.blocks[i](X)"))
change(_Base.encode, "BlocksReversed", "the blocks are applied from the last to the first", "concept",
       ("self.blocks", "reversed(self.blocks)"))
change(_Base.encode, "EveryBlockGetsTheInput",
       "every block gets X itself, and only the last one's result is used", "concept",
       ("X = block(X)", "Y = block(X)"), (".norm(X)", ".norm(Y)"))
change(_Base.encode, "SecondResidual", "a second residual connection runs around every block", "concept",
       ("block(X)", "X + block(X)"))
change(_Base.forward, "Softmax", "returns probabilities: a softmax over the classes follows the head", "concept",
       ("return self.head(self.pool(self.encode(X)))", "return super().forward(X).softmax(-1)"))


@wrong("returns log-probabilities: a log_softmax over the classes follows the head", kind="concept")
class LogSoftmax(_Base):
    def forward(self, X):
        return F.log_softmax(self.head(self.pool(self.encode(X))), dim=1)


@wrong("a tanh is applied to the pooled vector before the head, as in BERT", kind="concept")
class TanhPooler(_Base):
    def pool(self, Y):
        return torch.tanh(super().pool(Y))


change(_Base.encode, "Causal", "a causal mask: tokens attend only to themselves and to earlier ones", "concept",
       before("for", "later = torch.ones(X.shape[1], X.shape[1], dtype=torch.bool, device=X.device).triu(1)"),
       ("block(X)", "block(X, src_mask=later)"))


@wrong("with mean pooling the class token is removed before the blocks, so the patches cannot attend to it",
       kind="concept")
class ClassTokenRemovedFirst(_Base):
    def encode(self, X):
        return super().encode(X[:, 1:] if self.mean_pooling else X)

    def pool(self, Y):
        return Y.mean(1) if self.mean_pooling else Y[:, 0]


change(_Base.pool, "MeanPlusClassToken",
       "with mean pooling the class token's vector is added to the mean of the patches", "concept",
       ("Y[:, 1:].mean(dim=1)", "Y[:, 0] + Y[:, 1:].mean(1)"))
change(_Base.pool, "SumOfPatches", "the patches are summed instead of averaged", "concept",
       (".mean(dim=1)", ".sum(1)"))
change(_Base.pool, "MaxOfPatches",
       "the largest value of each feature over the patches is taken instead of the mean", "concept",
       (".mean(dim=1)", ".amax(1)"))
change(_Base.pool, "MeanOverTheBatch", "the mean of the patches runs over the images of the batch as well", "concept",
       (".mean(dim=1)", ".mean((0, 1)).expand(len(Y), -1)"))
change(_Base.forward, "ScaledInput", "X is multiplied by the root of D before the blocks", "concept",
       ("return self.head(self.pool(self.encode(X)))", "return super().forward(X * math.sqrt(X.shape[-1]))"))


# -------------------- wrong: two mistakes


@wrong("no norm after the last block, and the class token counts in the mean", kind="concept")
class NoNormAndClassTokenInMean(_Base):
    def encode(self, X):
        for block in self.blocks:
            X = block(X)
        return X

    def pool(self, Y):
        return Y.mean(1) if self.mean_pooling else Y[:, 0]


@wrong("post-norm blocks, and a softmax on the logits", kind="concept")
class PostNormAndSoftmax(_Base):
    def make_block(self, D, H, D_F):
        return _layer(D, H, D_F, norm_first=False)

    def forward(self, X):
        return torch.softmax(super().forward(X), dim=-1)


change(_Base.pool, "ExchangedAndOverAll",
       "the poolings are exchanged, and the mean includes the class token", "concept",
       ("Y[:, 1:].mean(dim=1)", "Y[:, 0]"), ("Y[:, 0]", "Y.mean(1)"))


@wrong("the sum of the patches is divided by N + 1, and the norm acts on it afterwards", kind="concept")
class WrongNumberAndNormLate(_Base):
    def forward(self, X):
        for block in self.blocks:
            X = block(X)
        pooled = X[:, 1:].sum(1) / X.shape[1] if self.mean_pooling else X[:, 0]
        return self.head(self.norm(pooled))


@wrong("the first block is skipped, and the head has no bias", kind="module")
class SkipsABlockHeadWithoutBias(_Base):
    def __init__(self, D, H, D_F, depth, classes, mean_pooling):
        super().__init__(D, H, D_F, depth, classes, mean_pooling)
        self.head = nn.Linear(D, classes, bias=False)

    def encode(self, X):
        for block in self.blocks[1:]:
            X = block(X)
        return self.norm(X)


# -------------------- wrong: layers and settings


change(_Plain, "HeadWithoutBias", "the head has no bias", "module",
       after("super().__init__(D, H, D_F, depth, classes, mean_pooling)",
             "self.head = nn.Linear(D, classes, bias=False)"))
change(_Plain, "OtherEpsilon", "the final norm uses ε = 1e-6 instead of nn.LayerNorm's own 1e-5", "numerics",
       after("super().__init__(D, H, D_F, depth, classes, mean_pooling)", "self.norm = nn.LayerNorm(D, eps=1e-6)"))
change(_Base.make_block, "OtherEpsilonInBlocks",
       "the norms of the blocks use ε = 1e-6: layer_norm_eps is set", "numerics",
       ("_layer(D, H, D_F)", "_layer(D, H, D_F, layer_norm_eps=1e-6)"))
change(_Plain, "NormWithoutWeights", "the final norm has no weight and no bias", "module",
       after("super().__init__(D, H, D_F, depth, classes, mean_pooling)",
             "self.norm = nn.LayerNorm(D, elementwise_affine=False)"))
change(_Plain, "NormShared",
       "the norm is that of the last block, shared with its second norm, and has no weights of its own", "module",
       after("super().__init__(D, H, D_F, depth, classes, mean_pooling)", "self.norm = self.blocks[-1].norm2"))


@wrong("the blocks are an nn.TransformerEncoder named encoder; there is no ModuleList blocks", kind="module")
class EncoderInstead(nn.Module):
    def __init__(self, D, H, D_F, depth, classes, mean_pooling):
        super().__init__()
        self.mean_pooling = mean_pooling
        self.encoder = nn.TransformerEncoder(_layer(D, H, D_F), depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(D)
        self.head = nn.Linear(D, classes)

    def forward(self, X):
        Y = self.norm(self.encoder(X))
        return self.head(Y[:, 1:].mean(1) if self.mean_pooling else Y[:, 0])


@wrong("the blocks are a plain Python list: their weights are no parameters of the model", kind="module")
class PlainList(nn.Module):
    def __init__(self, D, H, D_F, depth, classes, mean_pooling):
        super().__init__()
        self.mean_pooling = mean_pooling
        self.blocks = [_layer(D, H, D_F) for _ in range(depth)]
        self.norm = nn.LayerNorm(D)
        self.head = nn.Linear(D, classes)

    def forward(self, X):
        for block in self.blocks:
            X = block(X)
        Y = self.norm(X)
        return self.head(Y[:, 1:].mean(1) if self.mean_pooling else Y[:, 0])


change(_Base.make_block, "FourTimesD", "D_F is ignored: the MLPs have the hidden width 4·D", "module",
       ("_layer(D, H, D_F)", "_layer(D, H, 4 * D)"))
change(_Base.make_block, "OneHead", "H is ignored: every block has a single head", "module",
       ("_layer(D, H, D_F)", "_layer(D, 1, D_F)"))
change(_Base.make_block, "BlocksWithoutBias", "the layers of the blocks have no biases", "module",
       ("_layer(D, H, D_F)", "_layer(D, H, D_F, bias=False)"))
change(_Base.make_block, "ApproximateGelu", "gelu is taken in its tanh approximation", "numerics",
       ("_layer(D, H, D_F)", '_layer(D, H, D_F, activation=nn.GELU(approximate="tanh"))'))
change(_Plain, "OneBlockMore", "there is one block more than depth", "module",
       (".__init__(D, H, D_F, depth, classes, mean_pooling)",
        ".__init__(D, H, D_F, depth + 1, classes, mean_pooling)"))


@wrong("the model has a class token of its own, which is put in front of X as a further token", kind="module")
class OwnClassToken(_Base):
    def __init__(self, D, H, D_F, depth, classes, mean_pooling):
        super().__init__(D, H, D_F, depth, classes, mean_pooling)
        self.class_token = nn.Parameter(torch.zeros(1, 1, D))

    def forward(self, X):
        return super().forward(torch.cat([self.class_token.expand(len(X), -1, -1), X], dim=1))


@wrong("a learned vector of further weights, at first 0, is added to the tokens; the text's table has no such layer",
       kind="module")
class FurtherWeights(_Base):
    def __init__(self, D, H, D_F, depth, classes, mean_pooling):
        super().__init__(D, H, D_F, depth, classes, mean_pooling)
        self.shift = nn.Parameter(torch.zeros(D))

    def forward(self, X):
        return super().forward(X + self.shift)


@wrong("a dropout of 0.1 before the head makes training mode differ from eval mode", kind="module")
class DropoutBeforeHead(_Base):
    def pool(self, Y):
        return F.dropout(super().pool(Y), 0.1, self.training)


change(_Base.encode, "BlockDroppedInTraining",
       "in training mode the last block is skipped (as if dropped by stochastic depth) when depth is over 1", "module",
       ("for block in self.blocks:", "for i, block in enumerate(self.blocks):"),
       ("X = block(X)", """
        if i == 0 or i < len(self.blocks) - 1 or not self.training:
            X = block(X)"""))


# -------------------- wrong: shapes, layout, edges


change(_Base.forward, "LogitsSqueezed",
       "squeeze() on the logits removes the batch axis of a single image and the axis of a single class", "layout",
       ("return self.head(self.pool(self.encode(X)))", "return super().forward(X).squeeze()"))
change(_Base.forward, "InputSqueezed",
       "X.squeeze(0): a batch of one image loses its axis, and pooling then takes the wrong axis", "layout",
       ("self.head(self.pool(self.encode(X)))", "super().forward(X.squeeze(0))"))
change(_Base.pool, "TokenAxisKept",
       "the class token is kept as a sequence of one token: the logits are [B, 1, classes]", "shape",
       ("dim=1", "1"), ("Y[:, 0]", "Y[:, :1]"))
change(_Base.pool, "SinglePatchTakesClassToken",
       "with a single patch (N = 1) the class token is used, whatever mean_pooling says", "edge",
       ("dim=1", "1"), ("self.mean_pooling", "self.mean_pooling and Y.shape[1] > 2"))
change(_Base.encode, "NoNormForOneBlock", "with depth 1 the final norm is left out", "edge",
       ("self.norm(X)", "self.norm(X) if len(self.blocks) > 1 else X"))


@wrong("X.view flattens the tokens first: an X that is transposed or sliced raises an error", kind="layout")
class Viewed(_Base):
    def forward(self, X):
        B, tokens, D = X.shape
        return super().forward(X.view(B * tokens, D).view(B, tokens, D))


change(_Base.encode, "ZeroTokensMasked", "tokens that are all 0 are taken for padding and masked", "edge",
       before("for", """
        empty = (X == 0).all(-1)
        empty[:, 0] = False
        bias = torch.zeros(empty.shape, dtype=X.dtype, device=X.device).masked_fill(empty, -1e30)"""),
       ("block(X)", "block(X, src_key_padding_mask=bias)"))


@wrong("N is taken from the first call and kept: later inputs with another number of patches are divided wrongly",
       kind="interface")
class NumberOfPatchesKept(_Base):
    N = None

    def pool(self, Y):
        self.N = self.N or Y.shape[1] - 1
        return Y[:, 1:].sum(1) / self.N if self.mean_pooling else Y[:, 0]


change(_Base.pool, "AtMost196Patches", "the mean runs over at most the first 196 patches", "edge",
       ("Y[:, 1:].mean(dim=1)", "Y[:, 1:197].mean(1)"))


# -------------------- wrong: numbers, types, gradients


change(_Base.forward, "InputToSingle",
       "X is turned into float32: a model of float64 or bfloat16 raises an error", "interface",
       ("self.head(self.pool(self.encode(X)))", "super().forward(X.float())"))


@right("the model computes in float32, and its logits are only cast to the type of X")
class ComputedInSingle(_Base):
    def forward(self, X):
        weights = {name: p.float() for name, p in self.named_parameters()}
        single = _Base.forward
        inner = _Caller(self, single)
        logits = torch.func.functional_call(inner, {"model." + k: v for k, v in weights.items()}, (X.float(),))
        return logits.to(X.dtype)


class _Caller(nn.Module):
    def __init__(self, model, forward):
        super().__init__()
        self.model = model
        self.call = forward

    def forward(self, X):
        return self.call(self.model, X)


@wrong("the mean is a product with torch.ones(N) / N, made without type and device: float64 raises an error",
       kind="interface")
class MeanByUntypedOnes(_Base):
    def pool(self, Y):
        if not self.mean_pooling:
            return Y[:, 0]
        N = Y.shape[1] - 1
        return (torch.ones(N) / N) @ Y[:, 1:]


@wrong("runs under autocast to bfloat16, so only two or three digits of the logits are right", kind="numerics")
class Autocast(_Base):
    def forward(self, X):
        with torch.autocast(X.device.type, dtype=torch.bfloat16):
            logits = super().forward(X)
        return logits.to(X.dtype)


change(_Base.forward, "LogitsClamped", "the logits are limited to the range −100 to 100", "numerics",
       ("return self.head(self.pool(self.encode(X)))", "return super().forward(X).clamp(-100, 100)"))
change(_Base.forward, "InputClamped", "X is limited to the range −1000 to 1000 before the blocks", "numerics",
       ("return self.head(self.pool(self.encode(X)))", "return super().forward(X.clamp(-1e3, 1e3))"))
change(_Base.pool, "MeanWithEps", "each patch counts 1 / (N + 1e-6) in the mean", "numerics",
       (".mean(dim=1)", ".sum(1) / (Y.shape[1] - 1 + 1e-6)"))


@wrong("the encoder runs under torch.no_grad: only the head gets gradients", kind="gradient")
class EncoderWithoutGrad(_Base):
    def forward(self, X):
        with torch.no_grad():
            Y = self.encode(X)
        return self.head(self.pool(Y))


change(_Base.encode, "DetachedBetweenBlocks",
       "the stream is detached between the blocks, so only the last block learns", "gradient",
       ("block(X)", "block(X.detach())"))
change(_Base.forward, "InputDetached", "X is detached: no gradient flows to the input", "gradient",
       ("self.head(self.pool(self.encode(X)))", "super().forward(X.detach())"))
change(_Base.pool, "MeanDetached",
       "the mean of the patches is detached: with mean pooling only the head learns", "gradient",
       (".mean(dim=1)", ".mean(1).detach()"))
change(_Base.encode, "NormByData", "the norm's weight and bias are used by .data and get no gradient", "gradient",
       ("self.norm(X)", "F.layer_norm(X, X.shape[-1:], self.norm.weight.data, self.norm.bias.data, self.norm.eps)"))


@wrong("the mean is rebuilt by torch.tensor from a list, which cuts the gradient", kind="gradient")
class MeanFromAList(_Base):
    def pool(self, Y):
        if not self.mean_pooling:
            return Y[:, 0]
        return torch.tensor(Y[:, 1:].mean(1).tolist(), dtype=Y.dtype, device=Y.device)


@wrong("the residual stream is written into X in place, so the input is changed", kind="interface")
class ChangesTheInput(_Base):
    def encode(self, X):
        with torch.no_grad():
            kept = X.clone()
        for block in self.blocks:
            kept = block(kept if kept.requires_grad else X.clone())
            X.data.copy_(kept.data)
        return self.norm(kept)


@wrong("the mean token of each image is subtracted from X in place: wrong logits, changed input", kind="concept")
class CentredInPlace(_Base):
    def forward(self, X):
        X.data.sub_(X.data.mean(1, keepdim=True))
        return super().forward(X)


@wrong("a running mean of the class tokens of earlier calls is mixed in: equal inputs give different results",
       kind="interface")
class RemembersEarlierCalls(_Base):
    kept = None

    def pool(self, Y):
        pooled = super().pool(Y)
        if self.kept is not None:
            pooled = 0.9 * pooled + 0.1 * self.kept
        self.kept = pooled.detach().mean(0)
        return pooled


# -------------------- wrong: interface


@right("forward's argument is called tokens: the call model(X=...) fails")
class OtherForwardName(_Base):
    def forward(self, tokens):
        return super().forward(tokens)


@right("the arguments of __init__ have other names (dim, heads, mlp_dim, ...): calls by name fail")
class OtherInitNames(_Base):
    def __init__(self, dim, heads, mlp_dim, layers, num_classes, pool):
        super().__init__(dim, heads, mlp_dim, layers, num_classes, pool)


change(_Plain, "OtherInitOrder",
       "depth and classes are exchanged in the order of __init__'s arguments: calls by position are wrong", "interface",
       ("self, D, H, D_F, depth, classes", "self, D, H, D_F, classes, depth"))
change(_Plain, "PoolingOnlyByName", "mean_pooling can only be given by name", "interface",
       ("self, D, H, D_F, depth, classes,", "self, D, H, D_F, depth, classes, *,"))


@wrong("returns the logits together with the pooled vector", kind="interface")
class ReturnsAPair(_Base):
    def forward(self, X):
        pooled = self.pool(self.encode(X))
        return self.head(pooled), pooled


change(_Base.pool, "PoolingByText",
       "pooling is chosen by comparing with the text 'mean', so mean_pooling=True reads the class token", "interface",
       ("dim=1", "1"), ("self.mean_pooling", 'self.mean_pooling == "mean"'))


@wrong("the layers of the blocks are computed by a copy that was made in __init__: weights loaded later have no effect",
       kind="module")
class CopiedWeights(_Base):
    def __init__(self, D, H, D_F, depth, classes, mean_pooling):
        super().__init__(D, H, D_F, depth, classes, mean_pooling)
        self.used = [copy.deepcopy(block) for block in self.blocks]

    def encode(self, X):
        for block in self.used:
            X = block.to(X.dtype)(X)
        return self.norm(X)
