"""Units 06 and 08: references against layers that others wrote, and its counts against torch's own counter."""

import math

import jupytext
import pytest
import torch
from conftest import plain
from torch import nn
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode
from transformers import BertConfig, GPT2Config
from transformers.models.bert.modeling_bert import BertAttention, BertSelfAttention
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

from autograder import settings
from autograder.bank.catalogue import find_exercise

UNITS = ("06_multi_head", "08_efficient_attention")
B, N, N_X, H, D_H = 2, 7, 5, 3, 4
D = H * D_H
LOOSE = {"rtol": 1e-4, "atol": 1e-5}
split, merge = find_exercise("split_heads").reference, find_exercise("merge_heads").reference
cost = find_exercise("attention_cost").reference


def normal(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.fixture
def ours():
    torch.manual_seed(0)
    layer = find_exercise("MultiHeadAttention").reference(H, D_H).eval()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(normal(*parameter.shape) / parameter.shape[-1] ** 0.5)
    return layer


def solved() -> dict:
    """What the assignments' solutions define."""
    names = {}
    for cell in (cell for unit in UNITS for cell in jupytext.read(settings.SOLUTIONS / unit / f"{unit}.py").cells):
        if cell.cell_type == "code" and cell.source.startswith(("import", "def", "class")):
            exec(cell.source, names)
    return names


SOLVED = solved()


def forms(name):
    """The reference, the correct solutions in other styles, and that of the assignment, by name."""
    exercise = find_exercise(name)
    known = {"reference": exercise.reference, "solution": SOLVED[name]}
    known |= {one.name: one.object for one in exercise.alternatives}
    return pytest.mark.parametrize("form", known.values(), ids=known)


@forms("MultiHeadAttention")
@pytest.mark.parametrize("context", [None, normal(B, N_X, D)], ids=["self", "cross"])
@torch.no_grad()
def test_multi_head_attention_is_torchs_own_with_the_weights_of_each_head(ours, form, context):
    theirs = nn.MultiheadAttention(D, H, batch_first=True).eval()
    theirs.in_proj_weight.copy_(ours.W_QKV.weight)
    theirs.in_proj_bias.copy_(ours.W_QKV.bias)
    theirs.out_proj.load_state_dict(ours.W_O.state_dict())
    layer = form(H, D_H).eval()
    layer.load_state_dict(ours.state_dict())
    X = normal(B, N, D)
    source = X if context is None else context
    Y, A = theirs(X, source, source, average_attn_weights=False)
    found = layer(X) if context is None else layer(X, context)
    assert_close(found[0], Y, **LOOSE)
    assert_close(found[1], A, **LOOSE)


def bert(ours, kind, **more):
    """One of BERT's layers with our weights; its attention written out, which gives the weights too."""
    config = BertConfig(hidden_size=D, num_attention_heads=H, intermediate_size=D, **more)
    config._attn_implementation = "eager"
    layer = kind(config).eval()
    inner = layer if kind is BertSelfAttention else layer.self
    for name, weight, bias in zip(("query", "key", "value"), ours.W_QKV.weight.chunk(3), ours.W_QKV.bias.chunk(3)):
        getattr(inner, name).weight.copy_(weight)
        getattr(inner, name).bias.copy_(bias)
    return layer


@torch.no_grad()
def test_the_weights_and_the_merged_heads_are_those_of_berts_self_attention(ours):
    X = normal(B, N, D)
    merged, A = bert(ours, BertSelfAttention)(X)
    ours.W_O.load_state_dict({"weight": torch.eye(D), "bias": torch.zeros(D)})
    for one, other in zip(ours(X), (merged, A)):
        assert_close(one, other, **LOOSE)


@torch.no_grad()
def test_with_the_output_projection_it_is_berts_attention_before_residual_and_norm(ours):
    X = normal(B, N, D)
    theirs = bert(ours, BertAttention)
    theirs.output.dense.load_state_dict(ours.W_O.state_dict())
    Y, A = theirs(X)[:2]
    found = ours(X)
    assert_close(theirs.output.LayerNorm(found[0] + X), Y, **LOOSE)
    assert_close(found[1], A, **LOOSE)


@torch.no_grad()
def test_the_fused_projection_is_laid_out_as_gpt_2s_but_for_the_transpose(ours):
    config = GPT2Config(n_embd=D, n_head=H, n_layer=1)
    config._attn_implementation = "eager"
    theirs = GPT2Attention(config, layer_idx=0).eval()
    for conv, layer in ((theirs.c_attn, ours.W_QKV), (theirs.c_proj, ours.W_O)):
        conv.weight.copy_(layer.weight.T)  # Conv1D stores [in, out]
        conv.bias.copy_(layer.bias)
    X = normal(B, 1, D)  # one vector, which GPT-2 lets look at no other
    assert_close(ours(X)[0], theirs(X)[0], **LOOSE)
    X = normal(B, N, D)
    last, weights = (one[:, -1] if one.ndim == 3 else one[:, :, -1] for one in theirs(X)[:2])
    found = ours(X)
    assert_close(found[0][:, -1], last, **LOOSE)  # the last vector sees all, so no mask is needed for it
    assert_close(found[1][:, :, -1], weights, **LOOSE)


def test_merging_undoes_splitting_and_a_head_is_a_slice():
    X = normal(B, N, D)
    heads = split(X, H)
    assert torch.equal(merge(heads), X)
    for h in range(H):
        assert torch.equal(heads[:, h], X[..., h * D_H : (h + 1) * D_H])


@forms("online_softmax_step")
@pytest.mark.parametrize("far", [0.0, 300.0], ids=["near", "far"])
def test_steps_over_all_blocks_make_the_softmax(form, far):
    E, V = normal(B, N, 23, dtype=torch.float64) * 3, normal(B, 23, D_H, dtype=torch.float64)
    E[..., 11:] += far  # a later block overflows whatever kept the first maximum
    m = E.new_full((B, N), -torch.inf)
    l, O = E.new_zeros(B, N), E.new_zeros(B, N, D_H)
    for begin in range(0, 23, 4):
        m, l, O = form(m, l, O, E[..., begin : begin + 4], V[:, begin : begin + 4])
    assert_close(O / l[..., None], E.softmax(dim=-1) @ V)
    assert_close(m + l.log(), E.logsumexp(dim=-1))


def attended(Q, K, V):
    return (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1) @ V


@forms("tiled_attention")
@pytest.mark.parametrize("block", [1, 16, 33, 500])
def test_tiles_of_any_size_give_attention(form, block):
    Q, K, V = (normal(2, *shape, dtype=torch.float64) for shape in ((64, 32), (200, 32), (200, 16)))
    assert_close(form(Q, K, V, block), attended(Q, K, V))


@pytest.mark.parametrize("block", [1, 16, 33, 500])
def test_the_solutions_tiles_in_single_precision_are_exact_to_a_millionth(block):
    Q, K, V = normal(2, 64, 32), normal(2, 200, 32), normal(2, 200, 16)
    wanted = attended(Q.double(), K.double(), V.double())
    assert (SOLVED["tiled_attention"](Q, K, V, block) - wanted).abs().max() < 1e-6


@forms("linear_attention")
def test_linear_attention_is_a_weighted_mean_of_the_values(form):
    Q, K, V = normal(2, 6, 4), normal(2, 9, 4), normal(2, 9, 5)
    same = K[:, :1].expand(-1, 9, -1)
    assert_close(form(Q, same, V), V.mean(dim=1, keepdim=True).expand(-1, 6, -1))
    Y = form(Q, K, V)
    assert_close(Y, find_exercise("linear_attention").reference(Q, K, V))
    assert (Y.amax(dim=1) <= V.amax(dim=1)).all() and (Y.amin(dim=1) >= V.amin(dim=1)).all()


class Counted(nn.Module):
    """Multi-head attention of one sequence whose four products torch's counter sees."""

    def __init__(self, D, H):
        super().__init__()
        self.H, self.W_QKV, self.W_O = H, nn.Linear(D, 3 * D), nn.Linear(D, D)

    def forward(self, X):
        Q, K, V = (one.unflatten(-1, (self.H, -1)).transpose(0, 1) for one in self.W_QKV(X).chunk(3, dim=-1))
        self.A = (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1)
        return self.W_O((self.A @ V).transpose(0, 1).flatten(1))


@pytest.mark.parametrize(("D", "H"), [(24, 1), (24, 4), (64, 16)])
@torch.no_grad()
def test_the_counted_operations_are_those_that_torch_counts(D, H):
    lengths = [5, 32, 100]
    flops, memory = cost(torch.tensor(lengths), D, H, 4)
    for length, counted, held in zip(lengths, flops, memory):
        layer, seen = Counted(D, H), FlopCounterMode(display=False)
        with seen:
            layer(torch.randn(length, D))
        assert seen.get_total_flops() == counted
        assert layer.A.nbytes == held


@torch.no_grad()
def test_torchs_own_layers_cost_as_much():
    flops, _ = cost(torch.tensor([N]), D, H, 4)
    config = GPT2Config(n_embd=D, n_head=H, n_layer=1)
    config._attn_implementation = "eager"
    theirs = [nn.MultiheadAttention(D, H, batch_first=True), GPT2Attention(config, layer_idx=0)]
    X = normal(1, N, D)
    for layer, arguments in zip(theirs, ((X, X, X), (X,))):
        with FlopCounterMode(display=False) as seen:
            layer(*arguments)
        assert seen.get_total_flops() == flops


def test_the_decks_terabyte_is_the_weights_of_64_heads_over_a_hundred_thousand_vectors():
    _, memory = cost(torch.tensor([100_000]), 4096, 64, 2)
    assert memory.item() == 1_280_000_000_000


def test_blocks_of_queries_alone_are_no_tiles(examine):
    def rows(Q, K, V, block):
        return torch.cat([(q @ K.mT / math.sqrt(q.shape[-1])).softmax(-1) @ V for q in Q.split(block, 1)], dim=1)

    result = examine("tiled_attention", rows)
    assert (result.misconception, result.points) == ("blocks_of_queries_alone", 0)
    assert "It is the data vectors that are to come in blocks" in plain(result.message)


@pytest.mark.parametrize("block", [8, 16, 32])
def test_a_block_size_that_is_fixed_in_the_code_is_seen(examine, block):
    in_tiles = SOLVED["tiled_attention"]
    result = examine("tiled_attention", lambda Q, K, V, block, size=block: in_tiles(Q, K, V, size))
    assert result.misconception == "blocks_of_another_size"
