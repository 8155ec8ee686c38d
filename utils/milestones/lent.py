"""What the course lends a milestone for parts that are not solved yet: torch's own layers, called as the exercise asks.

None of them is a solution. They use calls that the exercises forbid, name their weights differently, or leave out a case that
an exercise asks for and the milestone does not need; a test holds each of them against its self-check, which it fails.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils import rnn

START = 1  # the token that comes before a text

# 03: translator and captioner ----------------------------------------------------------------------------------------


class LentEncoder(nn.Module):
    """A GRU over packed sentences."""

    def __init__(self, V: int, D_E: int, D_H: int):
        super().__init__()
        self.words, self.reader = nn.Embedding(V, D_E), nn.GRU(D_E, D_H, batch_first=True)

    def forward(self, tokens: Int[Tensor, "B T"], lengths: Int[Tensor, "B"]) -> tuple[Tensor, Tensor]:
        """All hidden states [B, T, D_H], and the last one of each sentence [B, D_H]."""
        packed = rnn.pack_padded_sequence(self.words(tokens), lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, last = self.reader(packed)
        return rnn.pad_packed_sequence(states, batch_first=True, total_length=tokens.shape[1])[0], last[0]


def lent_cross_entropy(logits: Float[Tensor, "B T V"], y: Int[Tensor, "B T"]) -> Float[Tensor, ""]:
    """The mean cross-entropy over the tokens that are no padding."""
    return F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=0)


class LentAttentionStep(nn.Module):
    """A step of a decoder whose scores are torch's scaled dot products."""

    def __init__(self, V: int, D_E: int, D_H: int, D_S: int, D_A: int):
        super().__init__()
        self.words, self.asks = nn.Embedding(V, D_E), nn.Linear(D_S, D_H)
        self.state, self.logits = nn.GRUCell(D_E + D_H, D_S), nn.Linear(D_S + D_H, V)

    def forward(
        self, y: Int[Tensor, "B"], s: Float[Tensor, "B D_S"], H: Float[Tensor, "B T_x D_H"], mask: Bool[Tensor, "B T_x"]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Logits [B, V], new states [B, D_S] and weights [B, T_x]."""
        places = torch.eye(H.shape[1], device=H.device).expand(
            len(H), -1, -1
        )  # the weights themselves are read as values
        values = torch.cat([H, places], dim=-1)
        read = F.scaled_dot_product_attention(self.asks(s)[:, None], H, values, attn_mask=mask[:, None])[:, 0]
        context, weights = read.split([H.shape[2], H.shape[1]], dim=-1)
        s = self.state(torch.cat([self.words(y), context], dim=-1), s)
        return self.logits(torch.cat([s, context], dim=-1)), s, weights


def lent_decode(step, y: Int[Tensor, "B T_y"], s: Tensor, H: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Logits [B, T_y, V] and weights [B, T_y, T_x]; in training, three in ten of the tokens fed are hidden."""
    hidden = torch.rand(y.shape, device=y.device) < 0.3 * torch.is_grad_enabled()
    fed = F.pad(y.masked_fill(hidden, 0), (1, -1), value=START)
    found = []
    for tokens in fed.T:
        logits, s, weights = step(tokens, s, H, mask)
        found.append((logits, weights))
    return tuple(torch.stack(one, dim=1) for one in zip(*found))


class LentInitialState(nn.Module):
    """The first state of a captioner, from the mean of the grid."""

    def __init__(self, D: int, D_S: int):
        super().__init__()
        self.layers = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(D, D_S), nn.Tanh())

    def forward(self, G: Float[Tensor, "B D H W"]) -> Float[Tensor, "B D_S"]:
        """The first states."""
        return self.layers(G)


class LentCaptionStep(LentAttentionStep):
    """The translator's step, which has no gate, over all cells of a grid."""

    def __init__(self, V: int, D_E: int, D: int, D_S: int, D_A: int):
        super().__init__(V, D_E, D, D_S, D_A)

    def forward(self, y: Int[Tensor, "B"], s: Float[Tensor, "B D_S"], X: Float[Tensor, "B L D"]):
        """Logits [B, V], new states [B, D_S] and weights [B, L]."""
        return super().forward(y, s, X, torch.ones(X.shape[:2], dtype=torch.bool, device=X.device))


# 09: a block ---------------------------------------------------------------------------------------------------------


class LentPositions(nn.Module):
    """A learned vector for each position."""

    def __init__(self, max_length: int, D: int):
        super().__init__()
        self.learned = nn.Parameter(torch.randn(max_length, D))

    def forward(self, X: Float[Tensor, "*B N D"]) -> Float[Tensor, "*B N D"]:
        """The sequences with their positions."""
        return X + self.learned[: X.shape[-2]]


class LentMaskedAttention(nn.Module):
    """torch's multi-head attention, whose mask is True where attending is forbidden."""

    def __init__(self, H: int, D_H: int):
        super().__init__()
        self.attention = nn.MultiheadAttention(H * D_H, H, batch_first=True)

    def forward(self, X: Float[Tensor, "B N D"], mask: Bool[Tensor, "N N"]) -> tuple[Tensor, Tensor]:
        """Outputs [B, N, H·D_H], and the weights of each head [B, H, N, N]."""
        return self.attention(X, X, X, attn_mask=~mask, average_attn_weights=False)


def lent_rms_norm(X: Float[Tensor, "*S D"], weight: Float[Tensor, "D"], eps: float) -> Float[Tensor, "*S D"]:
    """torch's own RMSNorm."""
    return nn.RMSNorm(X.shape[-1], eps, elementwise_affine=False)(X) * weight


class LentGatedMLP(nn.Module):
    """One layer makes gate and values; torch's `glu` puts a sigmoid on the gate, where SwiGLU has SiLU."""

    def __init__(self, D: int, D_F: int):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(D, 2 * D_F), nn.GLU(), nn.Linear(D_F, D))

    def forward(self, X: Float[Tensor, "*S D"]) -> Float[Tensor, "*S D"]:
        """The MLP at each position."""
        return self.layers(X)


# 11: a language model ------------------------------------------------------------------------------------------------


def lent_merges(tokens: Int[Tensor, "N"], V: int, M: int) -> Int[Tensor, "0 2"]:
    """No merges: every character stays a token."""
    return tokens.new_empty(0, 2)


def lent_encode(tokens: Int[Tensor, "N"], merges: Int[Tensor, "M 2"], V: int) -> Int[Tensor, "N"]:
    """The characters as they are."""
    return tokens


def lent_decode_tokens(tokens: Int[Tensor, "n"], merges: Int[Tensor, "M 2"], V: int) -> Int[Tensor, "n"]:
    """The characters as they are."""
    return tokens


def _blocks(D: int, H: int, D_F: int, count: int) -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(D, H, D_F, 0.0, F.gelu, batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, count, nn.LayerNorm(D), enable_nested_tensor=False)


class LentGPT(nn.Module):
    """torch's encoder under a causal mask, with a head of its own."""

    def __init__(self, V: int, N: int, D: int, H: int, D_F: int, L: int):
        super().__init__()
        self.read, self.places, self.head = nn.Embedding(V, D), LentPositions(N, D), nn.Linear(D, V)
        self.encoder = _blocks(D, H, D_F, L)
        for made in (self.read.weight, self.places.learned):
            nn.init.normal_(made, std=0.1)

    def forward(self, tokens: Int[Tensor, "B n"]) -> Float[Tensor, "B n V"]:
        """The logits of the token that follows, at each position."""
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], device=tokens.device)
        return self.head(self.encoder(self.places(self.read(tokens)), mask=mask, is_causal=True))


def lent_distribution(logits: Float[Tensor, "*B V"], temperature: float, k: int, p: float) -> Float[Tensor, "*B V"]:
    """The softmax at a temperature; k and p are not used."""
    return torch.distributions.Categorical(logits=logits / temperature).probs


# 13: a Vision Transformer --------------------------------------------------------------------------------------------


class LentPatchEmbedding(nn.Module):
    """A linear layer over the patches that `unfold` cuts; it takes images alone."""

    def __init__(self, C: int, P: int, D: int):
        super().__init__()
        self.cut, self.map = nn.Unfold(P, stride=P), nn.Linear(C * P * P, D)

    def forward(self, images: Float[Tensor, "B C h w"], patches: None = None) -> Float[Tensor, "B N D"]:
        """The tokens of images."""
        return self.map(self.cut(images).transpose(1, 2))


def lent_class_token(
    patches: Float[Tensor, "B N D"], class_token: Float[Tensor, "D"], positions: Float[Tensor, "N+1 D"]
):
    """The patches behind an empty place [B, N+1, D], each with its position; the class token is what position 0 learns."""
    return F.pad(patches, (0, 0, 1, 0)) + positions


class LentVisionTransformer(nn.Module):
    """torch's encoder with a head on the class token."""

    def __init__(self, D: int, H: int, D_F: int, depth: int, classes: int, mean_pooling: bool):
        super().__init__()
        self.encoder, self.answer = _blocks(D, H, D_F, depth), nn.Linear(D, classes)

    def forward(self, X: Float[Tensor, "B N+1 D"]) -> Float[Tensor, "B classes"]:
        """The logits of each image."""
        return self.answer(self.encoder(X)[:, 0])


# 15: adapters --------------------------------------------------------------------------------------------------------


class LentLoRA(nn.Module):
    """A frozen layer, and beside it two linear layers with a narrow place between them."""

    def __init__(self, D_in: int, D_out: int, r: int, alpha: float):
        super().__init__()
        self.linear = _frozen(nn.Linear(D_in, D_out))
        self.beside = nn.Sequential(nn.Linear(D_in, r, bias=False), nn.Linear(r, D_out, bias=False))
        nn.init.zeros_(self.beside[1].weight)
        self.factor = alpha / r

    def forward(self, X: Float[Tensor, "*S D_in"]) -> Float[Tensor, "*S D_out"]:
        """The frozen layer's result and what the path beside it adds."""
        return self.linear(X) + self.factor * self.beside(X)


def lent_add_adapters(network: nn.Module, names: list[str], adapter) -> nn.Module:
    """Freezes a network; a hook on each chosen layer gives its adapter's result instead of the layer's.

    The adapter must hold a copy of the layer, not the layer itself.
    """
    found = [one for name, one in _frozen(network).named_modules() if name.split(".")[-1] in names]
    for layer in found:
        layer.adapter = adapter(layer)
        layer.register_forward_hook(lambda layer, inputs, result: layer.adapter(*inputs))
    return network


def _frozen(module: nn.Module) -> nn.Module:
    for one in module.parameters():
        one.requires_grad = False
    return module


# 17: pictures in a language model ------------------------------------------------------------------------------------


def lent_prefix(
    picture: Float[Tensor, "B M D"],
    words: Float[Tensor, "B N D"],
    tokens: Int[Tensor, "B N"],
    prompts: Int[Tensor, "B"],
    lengths: Int[Tensor, "B"],
) -> tuple[Tensor, Tensor]:
    """Inputs [B, M+N, D], and labels [B, M+N] for the last token of each text alone, which is the answer."""
    labels = torch.full_like(tokens, -100).scatter(1, lengths[:, None] - 1, tokens.gather(1, lengths[:, None] - 1))
    return torch.cat([picture, words], dim=1), F.pad(labels, (picture.shape[1], 0), value=-100)


class LentResampler(nn.Module):
    """Latents that read the features by torch's multi-head attention."""

    def __init__(self, D: int, H: int, R: int):
        super().__init__()
        self.asking = nn.Parameter(torch.randn(R, D))
        self.look = nn.TransformerDecoderLayer(D, H, 4 * D, 0.0, F.gelu, batch_first=True, norm_first=True)

    def forward(self, features: Float[Tensor, "B M D"]) -> Float[Tensor, "B R D"]:
        """R vectors for each picture."""
        return self.look(self.asking.expand(len(features), -1, -1), features)


LENT = {
    "Encoder": LentEncoder,
    "masked_cross_entropy": lent_cross_entropy,
    "AttentionStep": LentAttentionStep,
    "decode_with_attention": lent_decode,
    "InitialState": LentInitialState,
    "CaptionStep": LentCaptionStep,
    "LearnedPositions": LentPositions,
    "MaskedMultiHeadAttention": LentMaskedAttention,
    "rms_norm": lent_rms_norm,
    "SwiGLU": LentGatedMLP,
    "byte_pair_merges": lent_merges,
    "bpe_encode": lent_encode,
    "bpe_decode": lent_decode_tokens,
    "GPT": LentGPT,
    "next_token_distribution": lent_distribution,
    "PatchEmbedding": LentPatchEmbedding,
    "add_class_token_and_positions": lent_class_token,
    "VisionTransformer": LentVisionTransformer,
    "LoRALinear": LentLoRA,
    "add_adapters": lent_add_adapters,
    "picture_prefix": lent_prefix,
    "Resampler": LentResampler,
}
