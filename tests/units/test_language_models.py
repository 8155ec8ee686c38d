"""The references of unit 11 against public libraries: transformers' GPT-2 and its warpers, tokenizers' byte pair encoding."""

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models
from torch.testing import assert_close
from transformers import GPT2Config, GPT2LMHeadModel, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from autograder.bank.catalogue import find_exercise
from autograder.exercises.unit_11_language_models._shared import drawn_merges

V, N, D, H, L = 23, 11, 12, 3, 2


def reference(name):
    return find_exercise(name).reference


@pytest.fixture(scope="module")
def gpt2():
    torch.manual_seed(0)
    sizes = {"vocab_size": V, "n_positions": N, "n_embd": D, "n_head": H, "n_layer": L}
    return GPT2LMHeadModel(GPT2Config(**sizes, activation_function="gelu", bos_token_id=0, eos_token_id=0)).eval()


def taken_over(gpt2):
    """The exercise's GPT with GPT-2's weights."""
    model, theirs = reference("GPT")(V, N, D, H, 4 * D, L).eval(), gpt2.transformer
    pairs = [(model.tokens, theirs.wte), (model.positions, theirs.wpe), (model.norm, theirs.ln_f)]
    turned = []
    for block, other in zip(model.blocks, theirs.h):
        pairs += [(block.norm1, other.ln_1), (block.norm2, other.ln_2)]
        turned += [(block.self_attn.out_proj, other.attn.c_proj), (block.linear1, other.mlp.c_fc)]
        turned += [(block.linear2, other.mlp.c_proj)]
        block.self_attn.in_proj_weight.data = other.attn.c_attn.weight.data.T.clone()
        block.self_attn.in_proj_bias.data = other.attn.c_attn.bias.data.clone()
    for ours, other in pairs + turned:
        ours.weight.data = (other.weight.data.T if (ours, other) in turned else other.weight.data).clone()
        if getattr(ours, "bias", None) is not None:
            ours.bias.data = other.bias.data.clone()
    return model


def test_gpt_gives_the_logits_of_gpt2_with_its_weights(gpt2):
    tokens = torch.randint(V, (3, 7), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        assert_close(taken_over(gpt2)(tokens), gpt2(tokens).logits, rtol=1e-4, atol=1e-5)


def test_the_loss_is_the_one_that_gpt2_reports_without_padding(gpt2):
    tokens = torch.randint(V, (3, 7), generator=torch.Generator().manual_seed(2))
    lengths = torch.tensor([7, 4, 2])
    labels = tokens.masked_fill(torch.arange(7) >= lengths[:, None], -100)
    with torch.no_grad():
        theirs = gpt2(tokens, labels=labels)
    loss, perplexity = reference("perplexity")(theirs.logits, tokens, lengths)
    assert_close(loss, theirs.loss)
    assert_close(perplexity, theirs.loss.exp())


def test_the_count_is_that_of_gpt2_small():
    with torch.device("meta"):
        small = GPT2LMHeadModel(GPT2Config())
    sizes = [torch.tensor([size]) for size in (50257, 1024, 768, 12, 3072)]
    parameters, _ = reference("count_gpt")(*sizes, True)
    assert parameters.item() == sum(one.numel() for one in small.parameters()) == 124_439_808


@pytest.mark.parametrize("temperature, k, p", [(0.7, 8, 0.9), (1.3, 20, 0.6), (2.0, 3, 0.95)])
def test_the_next_tokens_distribution_is_that_of_the_warpers(temperature, k, p):
    logits = torch.randn(5, V, generator=torch.Generator().manual_seed(3)) * 2
    warped = logits
    for warper in (TemperatureLogitsWarper(temperature), TopKLogitsWarper(k), TopPLogitsWarper(p)):
        warped = warper(None, warped)
    assert_close(reference("next_token_distribution")(logits, temperature, k, p), warped.softmax(dim=-1))


@pytest.mark.parametrize("seed", range(5))
def test_texts_are_cut_as_tokenizers_cuts_them(seed):
    rng, letters = np.random.default_rng(seed), 6
    merges = drawn_merges(letters, 15, rng)
    spelled = [chr(ord("a") + letter) for letter in range(letters)]
    for left, right in merges:
        spelled.append(spelled[left] + spelled[right])
    known = {text: number for number, text in reversed(list(enumerate(spelled)))}
    if len(known) < len(spelled):
        pytest.skip("two merges spell the same, and tokenizers tells tokens by their spelling")
    cut = Tokenizer(models.BPE(vocab=known, merges=[(spelled[left], spelled[right]) for left, right in merges]))
    text = torch.from_numpy(rng.integers(letters, size=200))
    ours = reference("bpe_encode")(text, torch.from_numpy(merges), letters)
    assert ours.tolist() == cut.encode("".join(spelled[letter] for letter in text.tolist())).ids
    assert torch.equal(reference("bpe_decode")(ours, torch.from_numpy(merges), letters), text)
