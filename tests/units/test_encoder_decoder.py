"""The references of unit 10 against torch's own decoder layer and whole Transformer, on the same weights."""

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from autograder.bank.catalogue import find_exercise


def randomised(module, seed):
    """The module with random numbers for all weights, those of the norms too."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for one in module.parameters():
            scale = one.shape[-1] ** -0.5 if one.ndim > 1 else 1.0
            one.copy_(torch.randn(one.shape, generator=generator, dtype=one.dtype) * scale)
    return module.eval()


def hidden(shape, generator):
    """True where padding is; every row has a word."""
    padding = torch.rand(shape, generator=generator) < 0.4
    padding[:, 0] = False
    return padding


SIZES = [(2, 5, 7, 12, 3, 20), (4, 6, 6, 8, 4, 8), (3, 1, 4, 10, 1, 9), (1, 3, 1, 6, 2, 5)]  # B, T, N, D, H, D_F


@pytest.mark.parametrize(("B", "T", "N", "D", "H", "D_F"), SIZES)
def test_decoder_block_is_torchs_own(B, T, N, D, H, D_F):
    ours = randomised(find_exercise("DecoderBlock").reference(D, H, D_F).double(), seed=B)
    layer = nn.TransformerDecoderLayer(D, H, D_F, dropout=0.0, batch_first=True, norm_first=True).double().eval()
    own, other = layer.self_attn, layer.multihead_attn
    with torch.no_grad():
        own.in_proj_weight.copy_(ours.W_QKV.weight)
        own.in_proj_bias.copy_(ours.W_QKV.bias)
        other.in_proj_weight.copy_(torch.cat([ours.W_Q.weight, ours.W_KV.weight]))
        other.in_proj_bias.copy_(torch.cat([ours.W_Q.bias, ours.W_KV.bias]))
    own.out_proj, other.out_proj = copy.deepcopy(ours.W_O), copy.deepcopy(ours.W_C)
    layer.linear1, layer.linear2 = ours.W_in, ours.W_out
    layer.norm1, layer.norm2, layer.norm3 = ours.norm_1, ours.norm_2, ours.norm_3
    generator = torch.Generator().manual_seed(N)
    X = torch.randn(B, T, D, generator=generator, dtype=torch.float64)
    memory = torch.randn(B, N, D, generator=generator, dtype=torch.float64)
    padding = hidden((B, N), generator)
    later = nn.Transformer.generate_square_subsequent_mask(T, dtype=torch.float64)
    expected = layer(X, memory, later, memory_key_padding_mask=padding, tgt_is_causal=True)
    assert_close(ours(X, memory, ~padding), expected)


def positions(N, D):
    """Sines and cosines, one number after the other."""
    angles = [[t / 10_000 ** (2 * (d // 2) / D) for d in range(D)] for t in range(N)]
    angles = torch.tensor(angles, dtype=torch.float64).reshape(N, D)
    return torch.where(torch.arange(D) % 2 == 0, angles.sin(), angles.cos())


@pytest.mark.parametrize(
    ("B", "T", "N", "D", "H", "D_F"), [(2, 5, 7, 12, 3, 20), (4, 6, 6, 8, 4, 8), (3, 1, 4, 10, 1, 9)]
)
@pytest.mark.parametrize("L", [1, 3])
@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True:UserWarning")
def test_transformer_is_torchs_own(B, T, N, D, H, D_F, L):
    V = 11
    ours = randomised(find_exercise("Transformer").reference(V, D, H, D_F, L).double(), seed=L)
    whole = nn.Transformer(D, H, L, L, D_F, dropout=0.0, batch_first=True, norm_first=True).double().eval()
    theirs = {"encoder.norm": ours.encoder_norm, "decoder.norm": ours.decoder_norm}
    theirs |= {"encoder.layers": ours.encoder, "decoder.layers": ours.decoder}
    weights = {f"{name}.{key}": one for name, part in theirs.items() for key, one in part.state_dict().items()}
    whole.load_state_dict(weights)  # which asks for all of them
    generator = torch.Generator().manual_seed(T)
    padding = (torch.arange(N) >= torch.randint(1, N + 1, (B, 1), generator=generator)).logical_and(
        torch.arange(B)[:, None] > 0
    )
    source = torch.randint(2, V, (B, N), generator=generator).masked_fill(padding, 0)
    target = torch.cat(
        [torch.ones(B, 1, dtype=torch.long), torch.randint(3, V, (B, T - 1), generator=generator)], dim=1
    )
    E = ours.embedding.weight
    X, Y = (E[words] * D**0.5 + positions(words.shape[1], D) for words in (source, target))
    later = nn.Transformer.generate_square_subsequent_mask(T, dtype=torch.float64)
    with torch.no_grad():
        vectors = whole(X, Y, tgt_mask=later, src_key_padding_mask=padding, memory_key_padding_mask=padding)
        assert_close(ours(source, target), vectors @ E.T, atol=1e-5, rtol=1e-5)  # angles of single precision


def test_transformer_does_not_read_padding_or_what_comes_later():
    model = randomised(find_exercise("Transformer").reference(13, 8, 2, 16, 2), seed=0)
    source, target = torch.tensor([[5, 6, 2]]), torch.tensor([[1, 7, 8, 9]])
    logits = model(source, target)
    longer = torch.tensor([[5, 6, 2, 0, 0]])
    assert_close(model(longer, target), logits)
    assert_close(model(source, target[:, :2]), logits[:, :2])
