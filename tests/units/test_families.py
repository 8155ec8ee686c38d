"""The count of the families and T5's relative biases against transformers: T5, Llama 3, GPT-2 and BERT on the meta device."""

import pytest
import torch
from torch.testing import assert_close
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.models.t5.modeling_t5 import T5Attention

from autograder.bank.catalogue import find_exercise

T5_BASE = {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12, "vocab_size": 32128}
LLAMA_3_8B = {
    "vocab_size": 128256,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "tie_word_embeddings": False,
}
PLAIN, GATED = (False, True, True), (True, False, False)  # gated, biases, tied
KNOWN = {  # what is made, how it is counted, what the formula leaves out, and the published figure
    "T5-base": (
        lambda: T5ForConditionalGeneration(T5Config(**T5_BASE)),
        (12, 12, 32128, 768, 3072, 12, 12, 64, False, False, True),
        2 * 32 * 12,  # relative biases
        222_903_552,
    ),
    "Llama 3 8B": (
        lambda: LlamaForCausalLM(LlamaConfig(**LLAMA_3_8B)),
        (0, 32, 128256, 4096, 14336, 32, 8, 128, *GATED),
        0,
        8_030_261_248,
    ),
    "GPT-2 small": (
        lambda: GPT2LMHeadModel(GPT2Config()),
        (0, 12, 50257, 768, 3072, 12, 12, 64, *PLAIN),
        1024 * 768,  # positions
        124_439_808,
    ),
    "BERT-base": (  # its norm behind the embedding counts like the last one before the head
        lambda: BertModel(BertConfig(), add_pooling_layer=False),
        (12, 0, 30522, 768, 3072, 12, 12, 64, *PLAIN),
        (512 + 2) * 768,  # positions and segments
        108_891_648,
    ),
}


def reference(name):
    return find_exercise(name).reference


@pytest.mark.parametrize("name", KNOWN)
def test_the_count_is_that_of_transformers(name):
    make, (encoder, decoder, V, *others), left_out, published = KNOWN[name]
    with torch.device("meta"):
        theirs = sum(weight.numel() for weight in make().parameters())
    ours = reference("count_transformer")(encoder, decoder, torch.tensor([V]), *others).item()
    assert ours + left_out == theirs == published


def bias_of_transformers(weight, N_Q, N_X, furthest):
    buckets, H = weight.shape
    config = T5Config(
        d_model=4 * H,
        d_kv=4,
        num_heads=H,
        relative_attention_num_buckets=buckets,
        relative_attention_max_distance=furthest,
    )
    attention = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    attention.relative_attention_bias.weight.data.copy_(weight)
    return attention.compute_bias(N_Q, N_X)[0].detach()


@pytest.mark.parametrize(
    ("buckets", "furthest", "N_Q", "N_X"), [(32, 128, 150, 150), (32, 128, 1, 200), (16, 30, 40, 9), (4, 5, 6, 9)]
)
def test_relative_biases_are_those_of_t5(buckets, furthest, N_Q, N_X):
    weight = torch.randn(buckets, 3)
    wanted = bias_of_transformers(weight, N_Q, N_X, furthest)
    assert_close(reference("relative_bias")(weight, N_Q, N_X, furthest), wanted)


def test_an_encoder_of_t5_is_bidirectional_and_its_decoder_is_not():
    """The exercise asks for the encoder's form: in the decoder all later words share a bucket."""
    steps = torch.arange(-9, 10)
    encoder, decoder = (T5Attention._relative_position_bucket(steps, both) for both in (True, False))
    assert len(set(encoder[steps > 0].tolist())) > 1 == len(set(decoder[steps > 0].tolist()))
