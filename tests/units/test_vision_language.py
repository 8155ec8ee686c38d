"""The references of unit 16 against public code: transformers' CLIP, SigLIP and BLIP, and the formulas of BLIP's paper."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close
from transformers import BlipTextConfig, CLIPConfig, CLIPModel, SiglipConfig, SiglipModel
from transformers.models.blip.modeling_blip_text import BlipTextModel

from autograder.bank.catalogue import find_exercise
from utils.models.vision_language import GridEncoder, MultimodalBlock

SMALL = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
PICTURES = {**SMALL, "image_size": 16, "patch_size": 8}
TEXTS = {
    **SMALL,
    "vocab_size": 40,
    "max_position_embeddings": 8,
    "eos_token_id": 39,
    "bos_token_id": 38,
    "pad_token_id": 1,
}


def reference(name):
    return find_exercise(name).reference


def batch(N=5):
    torch.manual_seed(N)
    tokens = torch.randint(2, 38, (N, 7))
    tokens[:, -1] = 39
    return {"input_ids": tokens, "pixel_values": torch.randn(N, 3, 16, 16)}


@pytest.mark.parametrize("scale", [math.log(1 / 0.07), 0.3])
def test_the_contrastive_loss_is_that_of_transformers_clip(scale):
    torch.manual_seed(0)
    model = CLIPModel(CLIPConfig(text_config=TEXTS, vision_config=PICTURES, projection_dim=12)).eval()
    model.logit_scale.data.fill_(scale)
    with torch.no_grad():
        images, texts = model.get_image_features(batch()["pixel_values"]), model.get_text_features(batch()["input_ids"])
        theirs = model(**batch(), return_loss=True).loss
    images, texts = (getattr(one, "pooler_output", one) for one in (images, texts))
    assert_close(reference("contrastive_loss")(images, texts, math.exp(-scale)), theirs)


def test_zero_shot_probabilities_of_one_prompt_a_class_are_those_of_transformers_clip():
    torch.manual_seed(1)
    model = CLIPModel(CLIPConfig(text_config=TEXTS, vision_config=PICTURES, projection_dim=12)).eval()
    with torch.no_grad():
        found = model(**batch(6))
        theirs = found.logits_per_image.softmax(dim=1)
        ours = reference("zero_shot_probabilities")(
            3 * found.image_embeds, 2 * found.text_embeds[:, None], math.exp(-model.logit_scale.item())
        )
    assert_close(ours, theirs)


def test_the_sigmoid_loss_is_that_of_transformers_siglip():
    torch.manual_seed(2)
    model = SiglipModel(SiglipConfig(text_config=TEXTS, vision_config=PICTURES)).eval()
    model.logit_scale.data.fill_(math.log(10)), model.logit_bias.data.fill_(-10.0)
    with torch.no_grad():
        found = model(**batch(), return_loss=True)
    assert_close(reference("sigmoid_loss")(found.image_embeds, found.text_embeds, 0.1, -10.0), found.loss)


def test_soft_targets_are_those_of_blips_formulas():
    """With s and s' the similarities of learning and slow encoders: −Σ t log softmax(s), t = α softmax(s') + (1 − α) one-hot."""
    torch.manual_seed(3)
    N, K, D, tau, alpha = 4, 6, 5, 0.07, 0.4
    v, t, slow_v, slow_t = (F.normalize(torch.randn(N, D), dim=-1) for _ in range(4))
    queue_v, queue_t = (F.normalize(torch.randn(K, D), dim=-1) for _ in range(2))
    loss = 0.0
    for own, slow, others in ((v, slow_v, torch.cat([slow_t, queue_t])), (t, slow_t, torch.cat([slow_v, queue_v]))):
        one_hot = torch.zeros(N, N + K)
        one_hot.fill_diagonal_(1)
        target = alpha * F.softmax(slow @ others.T / tau, dim=1) + (1 - alpha) * one_hot
        loss = loss - (F.log_softmax(own @ others.T / tau, dim=1) * target).sum(dim=1).mean() / 2
    found = reference("momentum_contrastive_loss")(v, t, slow_v, slow_t, queue_v, queue_t, tau, alpha)
    assert_close(found, loss)


def test_masks_make_transformers_blip_text_network_give_what_its_own_modes_give():
    """Its encoder and its causal decoder are one network; what they see is what `text_masks` says."""
    torch.manual_seed(4)
    config = {
        **TEXTS,
        "encoder_hidden_size": 16,
        "attention_probs_dropout_prob": 0.0,
        "hidden_dropout_prob": 0.0,
        "sep_token_id": 1,
    }
    network = BlipTextModel(BlipTextConfig(**config, is_decoder=True), add_pooling_layer=False).eval()
    tokens, picture, lengths = torch.randint(2, 38, (3, 6)), torch.randn(3, 4, 16), torch.tensor([6, 2, 4])
    padding = (torch.arange(6) < lengths[:, None]).long()
    for mode, decodes, sees in (("contrast", False, False), ("match", False, True), ("write", True, True)):
        own, cross = reference("text_masks")(lengths, 6, 4, mode)
        added = torch.zeros(3, 1, 6, 6).masked_fill(~own[:, None], torch.finfo(torch.float32).min)
        assert cross.all() if sees else not cross.any()
        seen = {"encoder_hidden_states": picture} if sees else {}
        with torch.no_grad():
            theirs = network(tokens, attention_mask=padding, is_decoder=decodes, **seen).last_hidden_state
            ours = network(tokens, attention_mask=added, is_decoder=False, **seen).last_hidden_state
        assert_close(ours[padding.bool()], theirs[padding.bool()])


def test_a_block_without_a_picture_is_torchs_pre_norm_layer():
    torch.manual_seed(5)
    ours, theirs = (
        MultimodalBlock(12, 3, looks=True),
        nn.TransformerEncoderLayer(12, 3, 48, dropout=0.0, activation="gelu", batch_first=True, norm_first=True),
    )
    state = {
        "self_attn.in_proj_weight": torch.cat([ours.own.queries.weight, ours.own.keys_and_values.weight]),
        "self_attn.in_proj_bias": torch.cat([ours.own.queries.bias, ours.own.keys_and_values.bias]),
        "self_attn.out_proj.weight": ours.own.output.weight,
        "self_attn.out_proj.bias": ours.own.output.bias,
        "linear1.weight": ours.mlp[0].weight,
        "linear1.bias": ours.mlp[0].bias,
        "linear2.weight": ours.mlp[2].weight,
        "linear2.bias": ours.mlp[2].bias,
    }
    for name, norm in (("norm1", ours.norm_own), ("norm2", ours.norm_mlp)):
        state |= {f"{name}.weight": norm.weight, f"{name}.bias": norm.bias}
    theirs.load_state_dict(state)
    X, allowed = torch.randn(2, 5, 12), torch.ones(2, 5, 5, dtype=torch.bool).tril()
    assert_close(ours(X, allowed), theirs(X, src_mask=~allowed[0]))
    assert not torch.allclose(ours(X, allowed, torch.randn(2, 4, 12)), ours(X, allowed)), "a picture makes a difference"


def test_the_grid_encoder_puts_a_class_token_in_front_of_the_cells():
    torch.manual_seed(6)
    encoder, grids, order = GridEncoder(12, 3, cells=4, width=7), torch.randn(2, 4, 7), torch.tensor([2, 0, 3, 1])
    nn.init.zeros_(encoder.positions)  # without positions the cells are a set, and the class token is none of them
    found, moved = encoder(grids), encoder(grids[:, order])
    assert found.shape == (2, 5, 12)
    assert_close(moved[:, 0], found[:, 0])
    assert_close(moved[:, 1:], found[:, 1:][:, order])
