"""Answers to Transformer (assignment 10)."""

import math

import torch
import torch.nn.functional as F
from answers import before, change, left_open, right, wrong
from torch import nn


def _encoder_layer(D, H, D_F, **more):
    return nn.TransformerEncoderLayer(D, H, D_F, **{"dropout": 0.0, "batch_first": True, "norm_first": True, **more})


def _decoder_layer(D, H, D_F, **more):
    return nn.TransformerDecoderLayer(D, H, D_F, **{"dropout": 0.0, "batch_first": True, "norm_first": True, **more})


class _Model(nn.Module):
    """The layers, and the steps as methods that a mistake may replace."""

    def __init__(self, V: int, D: int, H: int, D_F: int, L: int):
        super().__init__()
        self.D = D
        self.embedding = nn.Embedding(V, D)
        self.encoder = nn.ModuleList([_encoder_layer(D, H, D_F) for _ in range(L)])
        self.encoder_norm = nn.LayerNorm(D)
        self.decoder = nn.ModuleList([_decoder_layer(D, H, D_F) for _ in range(L)])
        self.decoder_norm = nn.LayerNorm(D)

    def angles(self, words):
        t = torch.arange(words.shape[1], device=words.device, dtype=torch.float32)
        i = torch.arange(self.D // 2, device=words.device)
        return t[:, None] * 10000.0 ** (-2 * i / self.D)

    def positions(self, words):
        angles = self.angles(words)
        table = torch.empty(words.shape[1], self.D, device=words.device)
        table[:, ::2] = angles.sin()
        table[:, 1::2] = angles.cos()
        return table

    def embed(self, words):
        return self.embedding(words) * math.sqrt(self.D) + self.positions(words)

    def hidden(self, source):
        return source == 0

    def later(self, target):
        T = target.shape[1]
        return torch.ones(T, T, device=target.device).triu(1).bool()

    def encode(self, source):
        X = self.embed(source)
        for layer in self.encoder:
            X = layer(X, src_key_padding_mask=self.hidden(source))
        return self.encoder_norm(X)

    def decode(self, memory, source, target):
        Y = self.embed(target)
        for layer in self.decoder:
            Y = layer(Y, memory, tgt_mask=self.later(target), memory_key_padding_mask=self.hidden(source))
        return self.decoder_norm(Y)

    def head(self, Y):
        return Y @ self.embedding.weight.T

    def forward(self, source, target):
        return self.head(self.decode(self.encode(source), source, target))


# ---------------------------------------------------------------- right


@right("Straight from the text")
class Straight(_Model):
    pass


@right("Float masks with -inf, positions with torch.outer, head by F.linear")
class FloatMasks(_Model):
    def positions(self, words):
        rates = torch.exp(-math.log(10000) * torch.arange(0, self.D, 2, device=words.device) / self.D)
        angles = torch.outer(torch.arange(words.shape[1], device=words.device).float(), rates)
        return torch.stack((angles.sin(), angles.cos()), -1).reshape(words.shape[1], self.D)

    def hidden(self, source):
        like = self.embedding.weight
        return torch.zeros(source.shape, dtype=like.dtype, device=like.device).masked_fill(source == 0, -math.inf)

    def later(self, target):
        like = self.embedding.weight
        return like.new_full((target.shape[1], target.shape[1]), -math.inf).triu(1)

    def head(self, Y):
        return F.linear(Y, self.embedding.weight)


@right("A full three-axis mask for the source, one for each head and query")
class MaskPerHead(_Model):
    def forward(self, source, target):
        H = self.encoder[0].self_attn.num_heads
        keys = (source == 0).unsqueeze(1)
        own = keys.expand(-1, source.shape[1], -1).repeat_interleave(H, 0)
        across = keys.expand(-1, target.shape[1], -1).repeat_interleave(H, 0)
        X, Y = self.embed(source), self.embed(target)
        for layer in self.encoder:
            X = layer(X, own)
        X = self.encoder_norm(X)
        for layer in self.decoder:
            Y = layer(Y, X, self.later(target), across)
        return self.head(self.decoder_norm(Y))


@right("padding_idx, a table of positions that is made anew with math.sin, word for word")
class PaddingIndex(_Model):
    def __init__(self, V: int, D: int, H: int, D_F: int, L: int):
        super().__init__(V, D, H, D_F, L)
        self.embedding = nn.Embedding(V, D, padding_idx=0)

    def positions(self, words):
        def entry(t, d):
            angle = t / 10000 ** ((d - d % 2) / self.D)
            return math.cos(angle) if d % 2 else math.sin(angle)

        table = [[entry(t, d) for d in range(self.D)] for t in range(words.shape[1])]
        return torch.tensor(table, device=words.device, dtype=self.embedding.weight.dtype)


@right("Sentence by sentence without any padding mask: the source is cut to its words")
class SentenceBySentence(_Model):
    def forward(self, source, target):
        rows = []
        for words, fed in zip(source, target):
            words, fed = words[words != 0][None], fed[None]
            X = self.embed(words)
            for layer in self.encoder:
                X = layer(X)
            memory = self.encoder_norm(X)
            Y = self.embed(fed)
            for layer in self.decoder:
                Y = layer(Y, memory, tgt_mask=self.later(fed), tgt_is_causal=True)
            rows.append(self.head(self.decoder_norm(Y)))
        return torch.cat(rows)


@right("The target's padding is hidden too; masks by generate_square_subsequent_mask")
class TargetPaddingHidden(_Model):
    def later(self, target):
        return nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=target.device) < 0

    def decode(self, memory, source, target):
        Y = self.embed(target)
        for layer in self.decoder:
            Y = layer(
                Y,
                memory,
                tgt_mask=self.later(target),
                tgt_key_padding_mask=target == 0,
                memory_key_padding_mask=source == 0,
            )
        return self.decoder_norm(Y)


@right("Position by position: the decoder runs on each beginning of the target")
class BeginningByBeginning(_Model):
    def forward(self, source, target):
        memory = self.encode(source)
        found = []
        for t in range(1, target.shape[1] + 1):
            Y = self.embed(target[:, :t])
            for layer in self.decoder:
                Y = layer(Y, memory, tgt_mask=self.later(target[:, :t]), memory_key_padding_mask=source.eq(0))
            found.append(self.decoder_norm(Y[:, -1]) @ self.embedding.weight.mT)
        return torch.stack(found, 1)


@right("One-hot vectors times the embedding matrix; complex exponentials for the positions")
class OneHot(_Model):
    def embed(self, words):
        E = self.embedding.weight
        D = E.shape[1]
        t = torch.arange(words.shape[1], device=words.device)[:, None]
        angles = t * 10000.0 ** (-torch.arange(0, D, 2, device=words.device) / D)
        table = torch.view_as_real(torch.exp(1j * (math.pi / 2 - angles))).flatten(1)  # cos(π/2 − a) = sin(a)
        return D**0.5 * F.one_hot(words.long(), len(E)).to(E.dtype) @ E + table.to(E.dtype)


# ---------------------------------------------------------------- wrong: embeddings and positions


change(_Model.embed, "NotScaled", "no factor sqrt(D)", "concept",
       (".embedding(words) * math.sqrt(self.D)", ".embedding(words)"))
change(_Model.embed, "Divided", "divided by sqrt(D)", "concept",
       ("* math", "/ math"))
change(_Model.embed, "TimesD", "times D, not sqrt(D)", "concept",
       ("math.sqrt(self.D)", "self.D"))


@wrong("sqrt(D) times embedding and position together", kind="concept")
class SumScaled(_Model):
    def embed(self, words):
        return (self.embedding(words) + self.positions(words)) * math.sqrt(self.D)


@wrong("no positions at all", kind="concept")
class NoPositions(_Model):
    def positions(self, words):
        return torch.zeros(words.shape[1], self.D, device=words.device)


change(_Model.decode, "SourcePositionsOnly", "positions for the source only", "concept",
       (".embed(target)", ".embedding(target) * math.sqrt(self.D)"))
change(_Model.encode, "TargetPositionsOnly", "positions for the target only", "concept",
       (".embed(source)", ".embedding(source) * math.sqrt(self.D)"))


@wrong("sines in the first half, cosines in the second", kind="concept")
class Halves(_Model):
    def positions(self, words):
        return torch.cat([self.angles(words).sin(), self.angles(words).cos()], -1)


@wrong("cosines on even, sines on odd dimensions", kind="concept")
class CosinesFirst(_Model):
    def positions(self, words):
        return torch.stack([self.angles(words).cos(), self.angles(words).sin()], -1).flatten(1)


@wrong("sines only, on all dimensions", kind="concept")
class SinesOnly(_Model):
    def positions(self, words):
        return self.angles(words).sin().repeat_interleave(2, -1)


# Right, and not registered: answers below are changes of it.
class _Plain(_Model):
    def angles(self, words):
        t = torch.arange(words.shape[1], device=words.device)
        return t[:, None] * 10000.0 ** (-2 * torch.arange(self.D // 2, device=words.device) / self.D)


change(_Plain, "FromOne", "positions from 1", "concept",
       ("words.shape[1]", "1, words.shape[1] + 1"))
change(_Plain, "HalfTheExponent", "exponent i/D in the place of 2i/D, with i = 0, …, D/2 − 1", "concept",
       ("2 * torch", "torch"))
change(_Plain, "TwiceTheExponent", "exponent counts dimensions, 2d/D with d = 0, 2, 4, …: twice too fast", "concept",
       ("self.D // 2", "0, self.D, 2"))


@wrong("each dimension has its own frequency, 10000^(-d/D), also the odd ones", kind="concept")
class FrequencyPerDimension(_Model):
    def positions(self, words):
        t = torch.arange(words.shape[1], device=words.device)
        d = torch.arange(self.D, device=words.device)
        angles = t[:, None] * 10000.0 ** (-d / self.D)
        return torch.where(d % 2 == 0, angles.sin(), angles.cos())


change(_Plain, "FrequenciesGrow", "multiplied by 10000^(2i/D): wavelengths and frequencies exchanged", "concept",
       ("-2 * torch.arange", "2 * torch.arange"))
change(_Plain, "BaseThousand", "the base is 1000", "concept",
       ("10000.0", "1000.0"))
change(_Model.embed, "PositionsMultiply", "positions multiply the embeddings", "concept",
       ("+ self.positions(words)", "* self.positions(words)"))
change(_Model.embed, "PositionsAlongTheBatch",
       "the table of positions is as long as the source: added to the batch axis", "shape",
       (".positions(words)", ".positions(words.T)[:, None]"))
change(_Model.decode, "PositionsGoOn", "the target gets positions that count on behind the source", "concept",
       ("Y = self.embed(target)", """
        both = self.positions(torch.cat([source, target], 1))
        Y = self.embedding(target) * math.sqrt(self.D) + both[source.shape[1] :]"""))


# ---------------------------------------------------------------- wrong: masks


change(_Model.hidden, "NoPadding", "no padding mask anywhere", "concept",
       ("source == 0", "None"))
change(_Model.encode, "NoPaddingInEncoder", "no padding mask in the encoder", "concept",
       ("X, src_key_padding_mask=self.hidden(source)", "X"))
change(_Model.decode, "NoPaddingInDecoder", "no padding mask in the cross-attention", "concept",
       ("tgt_mask=self.later(target), memory_key_padding_mask=self.hidden(source)", "tgt_mask=self.later(target)"))
change(_Model.hidden, "PolarityWrong", "True at words in torch's key_padding_mask: words are hidden", "concept",
       ("source == 0", "source != 0"))


@wrong("the causal mask is True where attention is allowed: tril, which torch hides", kind="concept")
class TrilHidden(_Model):
    def later(self, target):
        return torch.ones(target.shape[1], target.shape[1], device=target.device).tril().bool()


change(TrilHidden, "DiagonalHidden", "triu with the diagonal: a position does not see itself", "concept",
       (".tril().bool()", ".triu().bool()"))
change(TrilHidden, "OneAhead", "triu(2): one word ahead is seen", "concept",
       (".tril().bool()", ".triu(2).bool()"))
change(_Model.later, "OnesAdded", "the mask is a float matrix of ones above the diagonal, which is added", "concept",
       (".ones(T, T, device=target.device).triu(1).bool()",
        ".ones(T, T, device=target.device, dtype=self.embedding.weight.dtype).triu(1)"))


@wrong("no causal mask", kind="concept")
class NotCausal(_Model):
    def later(self, target):
        return None


change(_Model.encode, "EncoderCausal", "the encoder is causal too", "concept",
       ("src_key_padding_mask", "src_mask=self.later(source), src_key_padding_mask"))
change(_Model.decode, "CrossCausal", "a causal memory_mask in the cross-attention", "concept",
       ("Y = self.embed(target)", """
        Y, T, N = self.embed(target), target.shape[1], source.shape[1]
        ahead = torch.ones(T, N, device=target.device).triu(1).bool()"""),
       ("tgt_mask=self.later(target)", "self.later(target), ahead"))
change(_Model.decode, "SourceMaskForTarget", "the padding mask of the source is given for the target", "shape",
       ("memory_key_padding_mask", "tgt_key_padding_mask"))
change(_Model.hidden, "StopHidden", "STOP (2) is hidden as well as padding: words are those above 2", "concept",
       ("source == 0", "source <= 2"))


@wrong("padding is set to 0 in the memory, but still attended to", kind="concept")
class MemoryZeroed(_Model):
    def forward(self, source, target):
        memory = self.encode(source) * (source != 0)[..., None]
        Y = self.embed(target)
        for layer in self.decoder:
            Y = layer(Y, memory, tgt_mask=self.later(target))
        return self.head(self.decoder_norm(Y))


change(_Model.hidden, "PaddingOfTheFirst", "the padding of the first sentence is used for all", "concept",
       ("source == 0", "(source[:1] == 0).expand(source.shape)"))


# ---------------------------------------------------------------- wrong: wiring


change(_Model.encode, "NoEncoderNorm", "encoder_norm is left out", "concept",
       ("self.encoder_norm(X)", "X"))
change(_Model.decode, "NoDecoderNorm", "decoder_norm is left out", "concept",
       ("self.decoder_norm(Y)", "Y"))


@wrong("the two norms are exchanged", kind="concept")
class NormsExchanged(_Model):
    def forward(self, source, target):
        X, Y = self.embed(source), self.embed(target)
        for layer in self.encoder:
            X = layer(X, src_key_padding_mask=self.hidden(source))
        X = self.decoder_norm(X)
        for layer in self.decoder:
            Y = layer(Y, X, tgt_mask=self.later(target), memory_key_padding_mask=self.hidden(source))
        return self.head(self.encoder_norm(Y))


change(_Model.encode, "NormAfterEachLayer", "a norm after each layer of the encoder", "concept",
       ("layer(X, src_key_padding_mask=self.hidden(source))",
        "self.encoder_norm(layer(X, src_key_padding_mask=self.hidden(source)))"),
       ("self.encoder_norm(X)", "X"))


@wrong("layer l of the decoder reads layer l of the encoder", kind="concept")
class SameDepth(_Model):
    def forward(self, source, target):
        X, Y = self.embed(source), self.embed(target)
        for one, other in zip(self.encoder, self.decoder):
            X = one(X, src_key_padding_mask=self.hidden(source))
            Y = other(Y, self.encoder_norm(X), tgt_mask=self.later(target), memory_key_padding_mask=self.hidden(source))
        return self.head(self.decoder_norm(Y))


change(_Model.encode, "EncoderNotUsed",
       "the decoder reads the source's embeddings; the encoder's result is lost", "concept",
       ("X = layer", "layer"))
change(_Model.decode, "OnlyTheLast",
       "the loop of the decoder starts from the embedding each time: only the last layer counts", "concept",
       ("Y = self", "X = self"), ("Y, memory", "X, memory"))
change(_Model.decode, "Reversed", "layers of the decoder in reverse order", "concept",
       ("self.decoder:", "reversed(self.decoder):"))
change(_Model.forward, "Exchanged", "source and target exchanged: the decoder is fed the source", "concept",
       ("self.encode(source), source, target", "self.encode(target), target, source"))
change(_Model.forward, "ShiftedAgain",
       "the target is shifted once more inside: a START in front, the last word cut off", "concept",
       before("return", "shifted = F.pad(target, (1, 0), value=1)[:, :-1]"),
       ("self.encode(source), source, target", "self.encode(source), source, shifted"))
change(_Model.forward, "LastCutOff", "the target's last word is cut off", "shape",
       ("self.encode(source), source, target", "self.encode(source), source, target[:, :-1]"))
change(_Model.head, "LastPosition", "logits of the last position only", "shape",
       ("return Y @ self.embedding.weight.T", "return super().head(Y[:, -1])"))
change(_Model.head, "Probabilities", "probabilities, not logits", "concept",
       ("return Y @ self.embedding.weight.T", "return super().head(Y).softmax(-1)"))
change(_Model.head, "LogProbabilities", "log-probabilities", "concept",
       ("return Y @ self.embedding.weight.T", "return super().head(Y).log_softmax(-1)"))
change(_Model.head, "HeadScaled", "the head uses the scaled embedding", "concept",
       ("self.embedding.weight.T", "(self.embedding.weight * math.sqrt(self.D)).T"))
change(_Model.head, "HeadDivided", "the head is divided by sqrt(D)", "concept",
       ("return Y @ self.embedding.weight.T", "return super().head(Y) / math.sqrt(self.D)"))


# ---------------------------------------------------------------- wrong: modules and the rest


@wrong("a head of its own, not tied", kind="module")
class OwnHead(_Model):
    def __init__(self, V: int, D: int, H: int, D_F: int, L: int):
        super().__init__(V, D, H, D_F, L)
        self.out = nn.Linear(D, V)

    def head(self, Y):
        return self.out(Y)


@wrong("two embeddings, one for each language", kind="module")
class TwoEmbeddings(_Model):
    def __init__(self, V: int, D: int, H: int, D_F: int, L: int):
        super().__init__(V, D, H, D_F, L)
        self.target_embedding = nn.Embedding(V, D)

    def decode(self, memory, source, target):
        Y = self.target_embedding(target) * math.sqrt(self.D) + self.positions(target)
        for layer in self.decoder:
            Y = layer(Y, memory, tgt_mask=self.later(target), memory_key_padding_mask=self.hidden(source))
        return self.decoder_norm(Y)


@wrong("post-norm layers: norm_first is left at its default", kind="module")
class PostNorm(_Model):
    def __init__(self, V: int, D: int, H: int, D_F: int, L: int):
        super().__init__(V, D, H, D_F, L)
        self.encoder = nn.ModuleList([_encoder_layer(D, H, D_F, norm_first=False) for _ in range(L)])
        self.decoder = nn.ModuleList([_decoder_layer(D, H, D_F, norm_first=False) for _ in range(L)])


change(PostNorm, "BatchSecond", "batch_first is left out: attention runs over the batch", "module",
       ("norm_first", "batch_first", 2))


@wrong("the layers use GELU", kind="module")
class Gelu(_Model):
    def __init__(self, V: int, D: int, H: int, D_F: int, L: int):
        super().__init__(V, D, H, D_F, L)
        self.encoder = nn.ModuleList([_encoder_layer(D, H, D_F, activation="gelu") for _ in range(L)])
        self.decoder = nn.ModuleList([_decoder_layer(D, H, D_F, activation="gelu") for _ in range(L)])


@wrong("dropout stays at torch's default of 0.1", kind="module")
class WithDropout(_Model):
    def __init__(self, V: int, D: int, H: int, D_F: int, L: int):
        super().__init__(V, D, H, D_F, L)
        self.encoder = nn.ModuleList([_encoder_layer(D, H, D_F, dropout=0.1) for _ in range(L)])
        self.decoder = nn.ModuleList([_decoder_layer(D, H, D_F, dropout=0.1) for _ in range(L)])


@wrong("one layer object L times in the list: the weights are shared", kind="module")
class OneLayerShared(_Model):
    def __init__(self, V: int, D: int, H: int, D_F: int, L: int):
        super().__init__(V, D, H, D_F, L)
        self.encoder = nn.ModuleList([_encoder_layer(D, H, D_F)] * L)
        self.decoder = nn.ModuleList([_decoder_layer(D, H, D_F)] * L)


@wrong("learned positions", kind="module")
class LearnedPositions(_Model):
    def __init__(self, V: int, D: int, H: int, D_F: int, L: int):
        super().__init__(V, D, H, D_F, L)
        self.places = nn.Embedding(512, D)

    def positions(self, words):
        return self.places.weight[: words.shape[1]]


@wrong("a table of 32 positions", kind="edge")
class ThirtyTwo(_Model):
    def positions(self, words):
        return super().positions(words.new_zeros(1, 32))[: words.shape[1]]


@wrong("the memory is detached, so the encoder does not learn", kind="gradient")
class MemoryDetached(_Model):
    def encode(self, source):
        return super().encode(source).detach()


change(_Model.head, "HeadDetached", "the head's weight is a copy, so no gradient comes from it", "gradient",
       (".weight.T", ".weight.data.T"))


@left_open("a table of 5000 positions kept as a buffer", kind="edge")
class Buffer(_Model):
    def __init__(self, V: int, D: int, H: int, D_F: int, L: int):
        super().__init__(V, D, H, D_F, L)
        self.register_buffer("table", super().positions(torch.zeros(1, 5000)))

    def positions(self, words):
        return self.table[: words.shape[1]]
