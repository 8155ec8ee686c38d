"""The references of unit 15 and figures of its lesson against public libraries: peft, bitsandbytes, transformers, SciPy.

peft and bitsandbytes are imported by the tests that need them: it takes seconds, for which other files' tests need not wait.
"""

import ast
import copy
import types

import numpy as np
import pytest
import torch
from scipy.linalg import subspace_angles
from scipy.special import ndtri
from torch import nn
from torch.testing import assert_close
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from autograder import settings
from autograder.bank.catalogue import find_exercise
from utils.checking.toy_networks import ToyNetwork

pytestmark = pytest.mark.filterwarnings(  # what the two libraries call, and what they import
    "ignore:`is_gradient_checkpointing` is deprecated:FutureWarning",
    "ignore:`torch.jit.script_method` is deprecated:DeprecationWarning",
)


def reference(name):
    return find_exercise(name).reference


def adapted(network, names, r, alpha=1.0, **more):
    """The network with peft's LoRA."""
    from peft import LoraConfig, get_peft_model

    return get_peft_model(network, LoraConfig(r=r, lora_alpha=alpha, target_modules=names, **more))


def with_lora(network, names, r, alpha=1.0):
    """The network with LoRALinear, put in by add_adapters."""

    def adapter(layer):
        made = reference("LoRALinear")(layer.in_features, layer.out_features, r, alpha)
        made.linear = layer
        return made

    return reference("add_adapters")(network, names, adapter)


def learned(network):
    return sum(one.numel() for one in network.parameters() if one.requires_grad)


LAYERS = [(6, 9, 2, 5.0), (13, 4, 3, 16), (8, 8, 1, 0.5), (5, 7, 19, 4)]  # D_in, D_out, r, alpha


def with_an_adapter(D_in, D_out, r, alpha):
    """peft's layer; A and B are random."""
    torch.manual_seed(D_in)
    network = nn.Sequential(nn.Linear(D_in, D_out))
    return adapted(network, ["0"], r, alpha, init_lora_weights=False)


def factors(layer, name="default"):
    return layer.lora_A[name].weight, layer.lora_B[name].weight


@pytest.mark.parametrize("D_in, D_out, r, alpha", LAYERS)
def test_a_layer_with_lora_gives_the_outputs_and_gradients_of_pefts(D_in, D_out, r, alpha):
    theirs = with_an_adapter(D_in, D_out, r, alpha).base_model.model[0]
    ours = reference("LoRALinear")(D_in, D_out, r, alpha)
    ours.load_state_dict(
        dict(zip(("linear.weight", "linear.bias", "A", "B"), (theirs.weight, theirs.bias, *factors(theirs))))
    )
    learns = [one.requires_grad for one in (theirs.weight, theirs.bias, *factors(theirs))]
    assert [one.requires_grad for one in (ours.linear.weight, ours.linear.bias, ours.A, ours.B)] == learns
    X, weight = torch.randn(2, 3, D_in, requires_grad=True), torch.randn(2, 3, D_out)
    found, wanted = ours(X), theirs(X)
    assert_close(found, wanted)
    assert_close(
        torch.autograd.grad((found * weight).sum(), (X, ours.A, ours.B)),
        torch.autograd.grad((wanted * weight).sum(), (X, *factors(theirs))),
    )


def test_a_new_layer_begins_as_pefts_does():
    torch.manual_seed(0)
    A, B = factors(adapted(nn.Sequential(nn.Linear(64, 3)), ["0"], 1000).base_model.model[0])
    ours = reference("LoRALinear")(64, 3, 1000, 1.0)
    assert not ours.B.any() and not B.any()
    assert_close((ours.A.mean(), ours.A.std(), ours.A.max()), (A.mean(), A.std(), A.max()), rtol=0.01, atol=0.002)


@pytest.mark.parametrize("D_in, D_out, r, alpha", LAYERS)
def test_switching_adapters_is_pefts_merging_and_unmerging(D_in, D_out, r, alpha):
    from peft import LoraConfig

    model, switch = with_an_adapter(D_in, D_out, r, alpha), reference("switch_adapters")
    model.add_adapter("other", LoraConfig(r=4, lora_alpha=7, target_modules=["0"], init_lora_weights=False))
    layer = model.base_model.model[0]
    old, new, none = (*factors(layer), alpha), (*factors(layer, "other"), 7), (None, None, 1.0)
    weights = [layer.weight.detach().clone()]
    for name in ("default", "other"):
        layer.merge(adapter_names=[name])
        weights.append(layer.weight.detach().clone())
        layer.unmerge()
    W, W_old, W_new = weights
    with torch.no_grad():
        assert_close(switch(W, *none, *old), W_old)
        assert_close(switch(W_old, *old, *new), W_new)
        assert_close(switch(W_new, *new, *none), layer.weight)


D, D_F, V, L, R = 8, 12, 11, 2, 3


def toy():
    shapes = ((4, D), (L, 8, D, D), (L, 8, D), (L, D), (V, D))
    return ToyNetwork(*(torch.randn(shape) / D**0.5 for shape in shapes))


def llama(L=L, D=D, D_F=D_F, V=V, D_H=4):
    sizes = {"num_hidden_layers": L, "hidden_size": D, "intermediate_size": D_F, "vocab_size": V}
    return LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=D // D_H))


OURS = {"base_model.model.": "", "base_layer": "linear", "lora_A.default.weight": "A", "lora_B.default.weight": "B"}


def renamed(name):
    for theirs, ours in OURS.items():
        name = name.replace(theirs, ours, 1)
    return name


@pytest.mark.parametrize(
    "make, names, count",
    [
        (llama, ["q_proj", "v_proj"], L * 2 * 2 * D * R),
        (llama, ["down_proj", "lm_head"], L * (D_F + D) * R + (D + V) * R),
        (toy, ["gate", "output"], L * 2 * 2 * D * R),  # and not output_gate
        (toy, ["output_gate", "head"], L * 2 * D * R + (D + V) * R),  # and neither gate nor output
    ],
)
def test_adapters_are_where_peft_puts_them_and_nothing_else_learns(make, names, count):
    torch.manual_seed(0)
    network = make().eval()
    theirs = adapted(copy.deepcopy(network), names, R, 5.0, init_lora_weights=False).eval()
    ours = with_lora(network, names, R, 5.0).eval()
    learns = {renamed(name): one.requires_grad for name, one in theirs.named_parameters()}
    assert {name: one.requires_grad for name, one in ours.named_parameters()} == learns
    assert learned(ours) == learned(theirs) == count
    ours.load_state_dict({renamed(name): one for name, one in theirs.state_dict().items()})
    given = torch.randn(4, D) if make is toy else torch.tensor([[1, 7, 3, 10]])
    with torch.no_grad():
        pair = (ours(given), theirs(given))
    assert_close(*(pair if make is toy else (one.logits for one in pair)))


def test_the_prefix_is_attended_to_as_in_pefts_prefix_tuning_of_gpt2():
    from peft import PrefixTuningConfig, get_peft_model

    B, H, N, D_H, P = 3, 2, 7, 4, 5
    torch.manual_seed(0)
    sizes = {"vocab_size": V, "n_positions": N + P, "n_embd": H * D_H, "n_head": H, "n_layer": L}
    config = GPT2Config(**sizes, initializer_range=0.7, attn_implementation="eager", bos_token_id=0, eos_token_id=0)
    model = get_peft_model(GPT2LMHeadModel(config), PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=P))
    model.eval()
    projected, attended = [], []
    for block in model.base_model.transformer.h:
        block.attn.c_attn.register_forward_hook(lambda layer, given, made: projected.append(made))
        block.attn.c_proj.register_forward_pre_hook(lambda layer, given: attended.append(given[0]))
    with torch.no_grad():
        weights = model(torch.randint(V, (B, N)), output_attentions=True).attentions
        prefixes = model.get_prompt(1).layers
    for QKV, Y, A, prefix in zip(projected, attended, weights, prefixes, strict=True):
        heads = [one.view(B, N, H, D_H).transpose(1, 2) for one in (*QKV.chunk(3, dim=-1), Y)]
        found = reference("prefix_attention")(*heads[:3], prefix.keys[0], prefix.values[0])
        assert_close(found, (heads[3], A))


@pytest.fixture(scope="module")
def bitsandbytes():
    from bitsandbytes import functional

    return functional


@pytest.fixture(scope="module")
def nf4(bitsandbytes):
    """The code book of the library."""
    return bitsandbytes.get_4bit_type("nf4", device="cpu")


@pytest.fixture(scope="module")
def lesson():
    """The lesson's functions and code books, without what it trains."""
    tree = ast.parse((settings.LESSON_TWINS / "15_lora.py").read_text(encoding="utf-8"))
    wanted = {"sixteen_quantiles", "rounded", "llama", "adapter_weights", "BITSANDBYTES"}
    named = [one for one in tree.body if getattr(one, "name", None) in wanted or _target(one) in wanted]
    names = {"torch": torch}
    exec(compile(ast.Module(named, []), "lesson 15", "exec"), names)
    return types.SimpleNamespace(**names)


def _target(statement):
    return getattr(statement.targets[0], "id", None) if isinstance(statement, ast.Assign) else None


def test_normal_float_of_four_bits_is_the_nf4_of_bitsandbytes(nf4):
    assert_close(reference("normal_float")(4), nf4, rtol=0, atol=3e-7)


def test_the_lessons_recipe_has_all_bits_of_the_nf4_of_bitsandbytes(lesson, nf4):
    assert torch.equal(lesson.BITSANDBYTES, nf4)
    assert torch.equal(lesson.sixteen_quantiles(0.9677083, torch.float32), nf4)
    assert_close(lesson.sixteen_quantiles(929 / 960, torch.float64), nf4, rtol=0, atol=3e-7)  # o = 1 - (1/32 + 1/30)/2


@pytest.mark.parametrize("D_out, D_in", [(64, 64), (256, 64), (48, 128)])
def test_the_lesson_rounds_to_the_weights_of_bitsandbytes(lesson, bitsandbytes, nf4, D_out, D_in):
    W, codes, state = quantised(bitsandbytes, D_out, D_in, 64)
    assert torch.equal(lesson.rounded(W, nf4), dequantised(bitsandbytes, codes, state))


@pytest.mark.parametrize("bits", range(2, 9))
def test_normal_float_holds_scipys_quantiles(bits):
    n = 2**bits
    o = ((1 - 1 / (2 * n)) + (1 - 1 / (2 * (n - 1)))) / 2
    above, below = (ndtri(np.linspace(o, 0.5, count + 1)[:-1]) for count in (n // 2, n // 2 - 1))
    code = np.sort(np.concatenate([above, -below, [0]])) / above[0]
    assert_close(reference("normal_float")(bits), torch.from_numpy(code).float(), rtol=0, atol=1e-7)


SHAPES = [  # D_out, D_in, block
    (64, 64, 64),  # whole blocks
    (24, 41, 64),  # the last block is not full
    (5, 7, 64),  # nor is the last byte
    (48, 50, 32),
    (130, 256, 128),
    (300, 200, 64),  # more than 256 scales
]


def quantised(bitsandbytes, D_out, D_in, block, kind="nf4", **more):
    """Weights, and what the library makes of them."""
    W = torch.randn(D_out, D_in, generator=torch.Generator().manual_seed(D_in))
    return W, *bitsandbytes.quantize_4bit(W, blocksize=block, quant_type=kind, **more)


def dequantised(bitsandbytes, codes, state):
    with torch.compiler.set_stance("force_eager"):  # odd widths would be compiled first
        return bitsandbytes.dequantize_4bit(codes, state)


@pytest.mark.parametrize("D_out, D_in, block", SHAPES)
def test_codes_and_scales_are_those_of_bitsandbytes(bitsandbytes, nf4, D_out, D_in, block):
    W, codes, state = quantised(bitsandbytes, D_out, D_in, block)
    packed, absmax = reference("quantize_blocks")(W, nf4, block)
    assert torch.equal(absmax, state.absmax)
    assert torch.equal(packed[: len(codes)], codes[:, 0])
    assert (packed[len(codes) :] == 0x77).all()  # padding, which the library does not store


@pytest.mark.parametrize("D_out, D_in, block", SHAPES)
def test_dequantised_weights_are_those_of_bitsandbytes(bitsandbytes, nf4, D_out, D_in, block):
    _, codes, state = quantised(bitsandbytes, D_out, D_in, block)
    packed = torch.zeros(len(state.absmax) * block // 2, dtype=torch.uint8)
    packed[: len(codes)] = codes[:, 0]
    found = reference("dequantize_blocks")(packed, state.absmax, nf4, D_out, D_in)
    assert torch.equal(found, dequantised(bitsandbytes, codes, state))


def test_with_the_librarys_fp4_as_code_book_the_weights_become_the_same(bitsandbytes):
    W, codes, state = quantised(bitsandbytes, 24, 41, 64, "fp4")  # not sorted, and 0 twice: packed bytes may differ
    found = reference("dequantize_blocks")(*reference("quantize_blocks")(W, state.code, 64), state.code, 24, 41)
    assert torch.equal(found, dequantised(bitsandbytes, codes, state))


def test_a_block_of_zeros_has_the_scale_and_the_code_of_0_in_both(bitsandbytes, nf4):
    W = torch.randn(3, 64, generator=torch.Generator().manual_seed(0))
    W[1] = 0
    codes, state = bitsandbytes.quantize_4bit(W, blocksize=64, quant_type="nf4")
    packed, absmax = reference("quantize_blocks")(W, nf4, 64)
    assert torch.equal(absmax, state.absmax) and absmax[1] == 0
    assert torch.equal(packed, codes[:, 0]) and (packed[32:64] == 0x77).all()


@pytest.mark.parametrize("D_out, D_in, block", SHAPES)
@pytest.mark.parametrize("double", [False, True])
def test_sizes_are_those_of_what_bitsandbytes_stores(bitsandbytes, D_out, D_in, block, double):
    _, codes, state = quantised(bitsandbytes, D_out, D_in, block, compress_statistics=double)
    # Not counted: code books, the same for all matrices, and a text that has the shape and, in digits, the mean.
    left_out = {"quant_map", "nested_quant_map", "quant_state.bitsandbytes__nf4"}
    counted = [codes, *(one for name, one in state.as_dict(packed=True).items() if name not in left_out)]
    counted += [state.offset] if double else []  # the mean
    size = reference("quantized_bytes")(torch.tensor([D_out * D_in]), block, 256, double)
    assert size.item() == sum(one.nbytes for one in counted)


def test_scales_cost_as_many_bits_a_weight_as_qlora_says():
    n = torch.tensor([12288 * 12288])
    simple, double = (8 * reference("quantized_bytes")(n, 64, 256, double) / n - 4 for double in (False, True))
    assert simple.item() == 0.5
    assert (round(double.item(), 3), round((simple - double).item(), 3)) == (0.127, 0.373)


@pytest.mark.parametrize("r, s, D", [(4, 3, 10), (2, 6, 9), (5, 5, 5)])
def test_the_overlap_is_the_sum_of_squares_and_the_mean_of_scipys_squared_cosines(r, s, D):
    rng = np.random.default_rng(r)
    A_1, A_2 = (rng.standard_normal((rank, D)) for rank in (r, s))
    U_1, U_2 = (np.linalg.svd(A)[2] for A in (A_1, A_2))  # the directions are rows
    phi = reference("subspace_overlap")(torch.from_numpy(A_1), torch.from_numpy(A_2)).numpy()
    assert phi.shape == (r, s)
    for i in range(1, r + 1):
        for j in range(1, s + 1):
            squares = sum((U_1[a] @ U_2[b]) ** 2 for a in range(i) for b in range(j))
            cosines = np.cos(subspace_angles(U_1[:i].T, U_2[:j].T))
            assert np.allclose(phi[i - 1, j - 1], [squares / min(i, j), np.mean(cosines**2)], rtol=0, atol=1e-9)
    whole = np.cos(subspace_angles(A_1.T, A_2.T))
    assert np.isclose(phi[-1, -1], np.mean(whole**2), rtol=0, atol=1e-9)


def test_the_overlap_of_a_subspace_with_itself_is_1():
    A, mixture = (torch.randn(4, D, generator=torch.Generator().manual_seed(D)) for D in (9, 4))
    phi = reference("subspace_overlap")(A, A)
    assert_close(phi.diagonal(), torch.ones(4))
    assert_close(reference("subspace_overlap")(A, mixture @ A)[-1], torch.ones(4))  # other rows, the same subspace


@pytest.mark.parametrize(
    "names, r, count",
    [
        (["query", "value"], 1, 4_718_592),
        (["query", "value"], 8, 37_748_736),
        (["query"], 8, 18_874_368),
        (["query", "key", "value", "output"], 2, 18_874_368),
    ],
)
def test_lora_of_gpt3_has_the_published_count_of_weights(names, r, count):
    width, matrices = 12288, ("query", "key", "value", "output")

    def blocks():
        return nn.ModuleList(nn.ModuleDict({name: nn.Linear(width, width) for name in matrices}) for _ in range(96))

    with torch.device("meta"):
        assert learned(with_lora(blocks(), names, r)) == learned(adapted(blocks(), names, r)) == count


@pytest.mark.parametrize(
    "L, D, D_F, weights, adapters, gigabytes",
    [
        (32, 4096, 11008, 6_738_415_616, 159_907_840, 3.9),
        (80, 8192, 22016, 65_285_660_672, 799_539_200, 34.5),
    ],
)
def test_the_lessons_counts_of_llama_are_those_of_transformers_and_peft(
    lesson, L, D, D_F, weights, adapters, gigabytes
):
    with torch.device("meta"):
        model = llama(L, D, D_F, V=32000, D_H=128)
        assert sum(one.numel() for one in model.parameters()) == weights
        matrices = [one.weight.numel() for one in model.model.layers.modules() if isinstance(one, nn.Linear)]
        assert learned(adapted(model, "all-linear", 64)) == adapters
    assert lesson.llama(L, D, D_F) == (sum(matrices), weights)
    assert lesson.adapter_weights([(D, D)] * 4 + [(D_F, D)] * 2 + [(D, D_F)], L, 64) == adapters
    base = reference("quantized_bytes")(torch.tensor(matrices), 64, 256, True).sum() + 2 * (weights - sum(matrices))
    assert round(base.item() / 1e9, 1) == gigabytes
