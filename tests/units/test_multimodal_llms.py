"""The references of unit 17 against public code: transformers' BLIP-2 Q-Former, Idefics' resampler and gated block."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from transformers import Blip2QFormerConfig, Blip2QFormerModel, IdeficsConfig
from transformers.models.blip_2.modeling_blip_2 import Blip2QFormerLayer
from transformers.models.idefics.modeling_idefics import IdeficsGatedCrossAttentionLayer
from transformers.models.idefics.perceiver import IdeficsPerceiverResampler

from autograder.bank.catalogue import find_exercise
from utils.data import questions, scenes
from utils.models.multimodal import TextReader, padded

B, Q, N, M, D, H, D_P, F = 2, 3, 5, 4, 12, 3, 7, 16


def reference(name):
    return find_exercise(name).reference


def moved(module):
    """The module with every parameter drawn anew, norms too."""
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.5)
    return module.eval()


@pytest.mark.parametrize("place", [0, 1])
def test_a_q_former_layer_is_that_of_transformers(place):
    config = Blip2QFormerConfig(
        hidden_size=D,
        num_attention_heads=H,
        intermediate_size=F,
        encoder_hidden_size=D_P,
        cross_attention_frequency=2,
        use_qformer_text_input=True,
        layer_norm_eps=1e-5,
        attn_implementation="eager",
    )
    theirs = moved(Blip2QFormerLayer(config, place))
    ours = reference("QFormerLayer")(D, H, D_P, F).eval()
    copied = {"own": theirs.attention} | ({"cross": theirs.crossattention} if place == 0 else {})
    for name, layer in copied.items():
        for kind, linear in (
            ("queries", layer.attention.query),
            ("keys", layer.attention.key),
            ("values", layer.attention.value),
            ("output", layer.output.dense),
        ):
            getattr(ours, f"{name}_{kind}").load_state_dict(linear.state_dict())
        getattr(ours, f"norm_{name}").load_state_dict(layer.output.LayerNorm.state_dict())
    for name, up, down in (
        ("queries", theirs.intermediate_query, theirs.output_query),
        ("text", theirs.intermediate, theirs.output),
    ):
        mlp = getattr(ours, f"mlp_{name}")
        mlp[0].load_state_dict(up.dense.state_dict())
        mlp[2].load_state_dict(down.dense.state_dict())
        getattr(ours, f"norm_{name}").load_state_dict(down.LayerNorm.state_dict())
    queries, text, picture = torch.randn(B, Q, D), torch.randn(B, N, D), torch.randn(B, M, D_P)
    allowed = reference("query_masks")(torch.tensor([5, 3]), Q, N, "writing")
    hidden = torch.zeros(allowed.shape).masked_fill(~allowed, torch.finfo(torch.float32).min)[:, None]
    with torch.no_grad():
        wanted = theirs(torch.cat([queries, text], dim=1), hidden, picture, query_length=Q)
        found = torch.cat(ours(queries, text, picture if place == 0 else None, allowed), dim=1)
    assert_close(found, wanted)


@pytest.mark.parametrize(("D_P", "published"), [(1408, 105_137_664), (1024, 101_598_720)])
def test_the_count_of_the_q_former_is_that_of_transformers(D_P, published):
    with torch.device("meta"):
        model = Blip2QFormerModel(Blip2QFormerConfig(encoder_hidden_size=D_P))
    ours = reference("qformer_parameters")(12, 768, 3072, torch.tensor([D_P]), 2)
    assert sum(weight.numel() for weight in model.parameters()) == ours.item() == published


@pytest.mark.parametrize(("loss", "entries"), [("matching", 49), ("writing", 31), ("contrast", 25)])
def test_the_three_masks_have_the_entries_of_the_papers_figure(loss, entries):
    assert reference("query_masks")(torch.tensor([4]), 3, 4, loss).sum() == entries


def test_the_resampler_is_that_of_idefics():
    config = IdeficsConfig(vision_config={"embed_dim": D}, perceiver_config={"qk_layer_norms_perceiver": False})
    theirs = moved(IdeficsPerceiverResampler(config, D, 1, H, D // H, 6))
    ours = reference("Resampler")(D, H, 6).eval()
    attention, mlp = theirs.blocks[0]
    ours.latents.data.copy_(theirs.latents)
    for name, layer in (
        ("norm_features", attention.context_layer_norm),
        ("norm_latents", attention.latents_layer_norm),
        ("to_queries", attention.q_proj),
        ("to_keys", attention.k_proj),
        ("to_values", attention.v_proj),
        ("output", attention.output_proj),
        ("norm_mlp", mlp.ln),
    ):
        getattr(ours, name).load_state_dict(layer.state_dict())
    mlp.fc, mlp.act, mlp.c_proj = ours.mlp  # theirs has a ReLU and no biases
    theirs.layer_norm = nn.Identity()  # which theirs has behind the last layer
    features = torch.randn(B, M, D)
    with torch.no_grad():
        assert_close(ours(features), theirs(features))


def test_the_gated_block_is_that_of_idefics():
    config = IdeficsConfig(
        hidden_size=D,
        num_attention_heads=H,
        intermediate_size=4 * D,
        vision_config={"embed_dim": D},
        alpha_type="float",
        attn_implementation="eager",
        qk_layer_norms=False,
    )
    theirs = moved(IdeficsGatedCrossAttentionLayer(config, 0))
    ours = moved(reference("GatedBlock")(D, H))
    for name, layer in (
        ("to_queries", theirs.cross_attn.q_proj),
        ("to_keys", theirs.cross_attn.k_proj),
        ("to_values", theirs.cross_attn.v_proj),
        ("output", theirs.cross_attn.o_proj),
    ):
        getattr(ours, name).load_state_dict(layer.state_dict())
    ours.gate_attention.data.fill_(theirs.alpha_cross_attn.item())
    ours.gate_mlp.data.fill_(theirs.alpha_dense.item())
    theirs.input_layernorm, theirs.post_attention_layernorm, theirs.mlp = ours.norm_text, ours.norm_mlp, ours.mlp
    X, pictures = torch.randn(B, 6, D), torch.randn(B, 2, 4, D)
    is_picture = torch.tensor([[0, 1, 0, 0, 1, 0], [0, 0, 0, 1, 0, 0]]).bool()
    number = is_picture.cumsum(dim=1)
    place = torch.arange(2).repeat_interleave(4) + 1
    hidden = torch.zeros(B, 1, 6, 8).masked_fill(number[:, None, :, None] != place, torch.finfo(torch.float32).min)
    with torch.no_grad():
        wanted = theirs(
            X,
            image_hidden_states=pictures.flatten(1, 2),
            image_attention_mask=hidden,
            cross_attention_gate=(number > 0).float(),
        )
        assert_close(ours(X, pictures, is_picture), wanted)


def test_the_labels_are_what_cross_entropy_leaves_out():
    inputs, labels = reference("picture_prefix")(
        torch.randn(1, 2, D),
        torch.randn(1, 5, D),
        torch.tensor([[5, 6, 7, 8, 0]]),
        torch.tensor([2]),
        torch.tensor([4]),
    )
    assert labels.tolist() == [[-100, -100, -100, -100, 7, 8, -100]] and inputs.shape == (1, 7, D)
    logits = torch.randn(7, 10)
    both = nn.functional.cross_entropy(logits[3:5], torch.tensor([7, 8]))
    assert_close(nn.functional.cross_entropy(logits[:-1], labels[0, 1:]), both)


def test_questions_are_about_the_scene_and_their_answers_evenly_drawn():
    some = scenes.scenes(300, seed=4)
    even = questions.EvenQuestions(some)
    for kind, answers in questions.ANSWERS.items():
        drawn = even.test(kind, each=40)
        assert {answer: sum(one.answer == answer for one in drawn) for answer in answers} == dict.fromkeys(
            answers, 40 // len(answers)
        )
        for one in drawn:
            things = some[one.scene].things
            said = {getattr(thing, kind) for thing in things} if kind != "where" else set(answers)
            assert one.answer in said
            assert one in questions.questions(some[one.scene], one.scene)


def test_a_text_holds_its_answers_where_it_says():
    import random

    scene = scenes.scenes(1, seed=5)[0]
    tokens, places = questions.document(scene, 6, random.Random(0))
    known = {question.target() for question in questions.questions(scene)}
    assert len(places) == 6 and {tokens[place] for place in places} <= known


def test_the_reader_is_causal_and_takes_vectors():
    torch.manual_seed(0)
    reader = TextReader().eval()
    tokens = padded([[1, 5, 6, 7], [1, 8, 9]])
    vectors = reader.words(tokens)
    with torch.no_grad():
        whole = reader(vectors)
        changed = vectors.clone()
        changed[:, 2:] = 0.0
        assert_close(reader(changed)[:, :2], whole[:, :2])
        assert_close(reader(vectors, before=[lambda X: X] * len(reader.blocks)), whole)
