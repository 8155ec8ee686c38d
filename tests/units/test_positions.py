"""Unit 05's references against layers that others wrote, and against what is published."""

import torch
from torch import nn
from torch.testing import assert_close
from transformers import LlamaConfig
from transformers.models.gptj import modeling_gptj
from transformers.models.llama import modeling_llama
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

from autograder.bank.catalogue import find_exercise

B, N, D = 2, 7, 16
rotary = find_exercise("rotary_encoding").reference
waves = find_exercise("sinusoidal_encoding").reference
spread = find_exercise("offset_spread").reference
gap = find_exercise("equivariance_gap").reference


def normal(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def test_rotary_in_halves_is_that_of_llama():
    places, X = torch.arange(3, 3 + N), normal(B, N, D)
    config = LlamaConfig(hidden_size=D, num_attention_heads=1, num_key_value_heads=1)
    config.rope_parameters = {"rope_type": "default", "rope_theta": 500.0}
    cos, sin = modeling_llama.LlamaRotaryEmbedding(config)(X, places[None])
    theirs, _ = modeling_llama.apply_rotary_pos_emb(X[:, None], X[:, None], cos, sin)
    assert_close(rotary(X, places, 500.0, False), theirs[:, 0])


def test_interleaved_rotary_is_that_of_gpt_j():
    places, X = torch.arange(3, 3 + N), normal(B, N, D)
    table = modeling_gptj.create_sinusoidal_positions(32, D)[places]  # [N, D]: sines, then cosines, base 10000
    sin, cos = table[None].expand(B, -1, -1).chunk(2, dim=-1)
    theirs = modeling_gptj.apply_rotary_pos_emb(X[:, :, None], sin, cos)
    assert_close(rotary(X, places, 10000.0, True), theirs[:, :, 0])


def test_a_permutation_of_the_features_makes_one_pairing_of_the_other():
    places, X = torch.arange(N), normal(B, N, D)
    sort = torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)])  # [evens, odds]
    assert_close(rotary(X, places, 10000.0, True)[..., sort], rotary(X[..., sort], places, 10000.0, False))


def test_rotary_scores_depend_on_the_distance_alone_and_lengths_stay():
    q, k, places = normal(D).expand(24, D), normal(D + 1)[1:].expand(24, D), torch.arange(24)
    for interleaved in (False, True):
        Q, K = (rotary(x, places, 10000.0, interleaved) for x in (q, k))
        assert spread(Q @ K.mT) < 1e-4 < spread((q + waves(places, D)) @ normal(D, D) @ (k + waves(places, D)).mT)
        assert_close(Q.norm(dim=-1), q.norm(dim=-1))


def test_waves_are_those_of_marian_but_for_the_order_of_the_features():
    theirs = MarianSinusoidalPositionalEmbedding(30, D)
    theirs.weight = nn.Parameter(theirs.create_weight(), requires_grad=False)  # sines first, then cosines
    ours = waves(torch.arange(30), D)
    assert_close(torch.cat([ours[:, 0::2], ours[:, 1::2]], dim=-1), theirs.weight)


def test_waves_give_the_published_table_for_fifty_features():
    published = [
        [0, 0.841, 0.909, 0.141],
        [1, 0.540, -0.416, -0.990],
        [0, 0.638, 0.983, 0.875],
        [1, 0.770, 0.186, -0.484],
    ]
    assert_close(waves(torch.arange(4), 50)[:, :4].T, torch.tensor(published), rtol=0, atol=5e-4)


def test_self_attention_is_that_of_torch_under_its_weights():
    ours = find_exercise("SelfAttentionLayer").reference(D, D, D)
    theirs = nn.MultiheadAttention(D, 1, bias=False, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.W_Q.weight, ours.W_K.weight, ours.W_V.weight]))
        theirs.out_proj.weight.copy_(torch.eye(D))
        X = normal(B, N, D)
        for one, other in zip(ours(X), theirs(X, X, X)):
            assert_close(one, other, rtol=1e-4, atol=1e-5)
        P, order = waves(torch.arange(N), D), torch.tensor([2, 0, 1, 4, 3, 6, 5])
        for one, other in zip(ours(X, P), theirs(X + P, X + P, X)):  # as DETR calls torch's
            assert_close(one, other, rtol=1e-4, atol=1e-5)
        assert (gap(lambda X: ours(X)[0], X, order) < 1e-5).all()
        assert (gap(lambda X: ours(X + P)[0], X, order) > 1e-2).all()
        assert (gap(lambda X: ours(X, P)[0], X, order) > 1e-2).all()
