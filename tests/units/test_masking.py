"""Unit 07's references against layers and models that others wrote, and what its masks promise."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.bias import causal_lower_right, causal_upper_left
from torch.testing import assert_close
from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from autograder.bank.catalogue import find_exercise

B, H, D_H, N, V = 2, 3, 4, 7, 19
LENGTHS = torch.tensor([7, 4])
causal = find_exercise("causal_mask").reference
padding = find_exercise("padding_mask").reference
softmax = find_exercise("masked_softmax").reference
log_probability = find_exercise("sequence_log_probability").reference
generate = find_exercise("generate_with_cache")


def normal(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def test_causal_masks_are_those_of_torch_at_either_end():
    Q, K = normal(1, 3, D_H), normal(1, N, D_H)
    for theirs, offset in ((causal_upper_left(3, N), 0), (causal_lower_right(3, N), N - 3)):
        ours = F.scaled_dot_product_attention(Q, K, K, attn_mask=causal(3, N, offset))
        assert_close(ours, F.scaled_dot_product_attention(Q, K, K, attn_mask=theirs))
    top_left = F.scaled_dot_product_attention(Q, K, K, is_causal=True)
    assert_close(top_left, F.scaled_dot_product_attention(Q, K, K, attn_mask=causal(3, N, 0)))
    assert torch.equal(~causal(N, N, 0), nn.Transformer.generate_square_subsequent_mask(N).isneginf())


def test_a_masked_softmax_is_that_of_scaled_dot_product_attention_with_empty_rows_of_zeros():
    E, I = normal(B, H, N, N), torch.eye(N).expand(B, H, N, N)
    mask = (causal(N, N, 0) & padding(LENGTHS, N))[:, None].clone()
    mask[1, :, 5] = False
    A = softmax(E, mask)
    assert_close(A, F.scaled_dot_product_attention(E, I, I, attn_mask=mask, scale=1.0))
    assert (A[1, :, 5] == 0).all() and torch.masked.softmax(E, -1, mask=mask.expand_as(E))[1, :, 5].isnan().all()


def twins():
    """Our layer, and torch's with its weights."""
    ours = find_exercise("MaskedMultiHeadAttention").reference(H, D_H)
    theirs = nn.MultiheadAttention(H * D_H, H, batch_first=True)
    with torch.no_grad():
        for weight in ours.parameters():
            weight.copy_(normal(*weight.shape) * 0.3)
        theirs.in_proj_weight.copy_(ours.W_QKV.weight)
        theirs.in_proj_bias.copy_(ours.W_QKV.bias)
        theirs.out_proj.load_state_dict(ours.W_O.state_dict())
    return ours, theirs


def test_masked_attention_is_that_of_torch_whose_masks_say_the_opposite():
    (ours, theirs), X = twins(), normal(B, N, H * D_H)
    look, words = causal(N, N, 0), padding(LENGTHS, N)
    for mask, told in (
        (look, {"attn_mask": ~look}),
        (words, {"key_padding_mask": ~words[:, 0]}),
        (look & words, {"attn_mask": ~look, "key_padding_mask": ~words[:, 0]}),
        (look & words, {"attn_mask": ~(look & words).repeat_interleave(H, dim=0)}),
    ):
        for one, other in zip(ours(X, mask), theirs(X, X, X, **told, average_attn_weights=False)):
            assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_a_query_that_sees_nothing_gives_the_bias_where_torch_gives_nan():
    (ours, theirs), X, mask = twins(), normal(B, N, H * D_H), causal(N, N, 0).clone()
    mask[2] = False
    Y, A = ours(X, mask)
    assert (A[:, :, 2] == 0).all()
    assert_close(Y[:, 2], ours.W_O.bias.expand(B, -1))
    assert theirs(X, X, X, attn_mask=~mask)[0][:, 2].isnan().all()


@pytest.mark.parametrize(("offset", "leaks"), [(0, False), (1, True)])
def test_a_gradient_shows_whether_the_future_is_seen(offset, leaks):
    (ours, _), X = twins(), normal(B, N, H * D_H).requires_grad_()
    ours(X, causal(N, N, offset))[0][:, 3].sum().backward()
    assert (X.grad[:, :4] != 0).any(dim=-1).all()
    assert bool((X.grad[:, 4:] != 0).any()) == leaks


def gpt2():
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=V, n_positions=32, n_embd=16, n_layer=2, n_head=1, initializer_range=0.4)
    return GPT2LMHeadModel(config).eval()


def llama():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=V,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=1,
        initializer_range=0.4,
    )
    return LlamaForCausalLM(config).eval()


def words(*shape):
    return torch.randint(0, V, shape, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("model", [gpt2(), llama()], ids=["gpt2", "llama"])
def test_log_probabilities_are_the_losses_of_a_language_model(model):
    tokens = words(B, N)
    with torch.no_grad():
        logits = model(tokens).logits
        for row, length in enumerate(LENGTHS):
            line = tokens[row : row + 1, :length]
            loss = model(line, labels=line).loss  # the mean over all tokens but the first
            assert_close(log_probability(logits, tokens, LENGTHS)[row], -loss * (length - 1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("model", [gpt2(), llama()], ids=["gpt2", "llama"])
def test_a_language_model_depends_on_all_earlier_embeddings_and_on_no_later_one(model):
    find = find_exercise("find_dependencies")
    X = model.get_input_embeddings()(words(B, N)).detach()
    known = {one.name: one.object for one in find.alternatives}
    for solution in (known["feature_by_feature"], known["with_weights_and_backward"]):
        depends = solution(lambda X: model(inputs_embeds=X.view(-1, *X.shape[-2:])).logits.view(*X.shape[:-1], V), X)
        assert torch.equal(depends, causal(N, N, 0).expand(B, N, N))


def as_decoder(model):
    """A language model with one head, called as the exercise's decoder is."""

    def decoder(tokens, positions, mask, K, V):
        cache, m = DynamicCache(), 0 if K is None else K.shape[2]
        for layer in range(model.config.num_hidden_layers if m else 0):
            cache.update(K[:, layer, None], V[:, layer, None], layer)
        visible = torch.where(mask, 0.0, torch.finfo().min).expand(len(tokens), 1, -1, -1)
        places = positions.expand(len(tokens), -1)
        made = model(tokens, attention_mask=visible, position_ids=places, past_key_values=cache, use_cache=True)
        kept = made.past_key_values.layers
        return made.logits, *(
            torch.stack([getattr(one, name)[:, 0, m:] for one in kept], 1) for name in ("keys", "values")
        )

    return decoder


@pytest.mark.parametrize("model", [gpt2(), llama()], ids=["gpt2", "llama"])
def test_generation_with_a_cache_is_that_of_a_language_model(model):
    prompt, steps = words(B, 5), 8
    with torch.no_grad():
        theirs = model.generate(
            prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=steps, do_sample=False, use_cache=True,
            eos_token_id=None, pad_token_id=0, output_logits=True, return_dict_in_generate=True,
        )  # fmt: skip
        for solution in (generate.reference, *(other.object for other in generate.alternatives)):
            y, logits = solution(as_decoder(model), prompt, steps)
            assert torch.equal(y, theirs.sequences[:, 5:])
            assert_close(logits, torch.stack(theirs.logits, dim=1), rtol=1e-4, atol=1e-4)
        anew = model(theirs.sequences).logits[:, 4:-1]
        assert_close(logits, anew, rtol=1e-4, atol=1e-4)
