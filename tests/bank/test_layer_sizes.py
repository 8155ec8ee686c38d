"""A module's layers are told as their author wrote them, in the lesson's symbols, however their sizes are computed."""

import copy
import math
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from conftest import plain
from jaxtyping import Float
from torch import Tensor, nn

from autograder.bank import catalogue, freezing
from autograder.bank.declaration import Case, exercise
from autograder.bank.layer_sizes import tell
from utils.checking.concluding import examine

CHOICES = [dict(zip("DVH", numbers)) for numbers in [(5, 7, 3), (8, 6, 4), (9, 11, 2)]]


class Block(nn.Module):
    def __init__(self, D, hidden=None, *, p=0.1):
        super().__init__()
        hidden = 4 * D if hidden is None else hidden
        self.up, self.down = nn.Linear(D, hidden), nn.Linear(hidden, D)
        self.scale = nn.Parameter(torch.ones(D))
        self.dropout = nn.Dropout(p)


def widest(*widths):
    return max(widths)


def rounded_up(number, multiple):
    return multiple * ((int(number) + multiple - 1) // multiple)


class Toy(nn.Module):
    def __init__(self, D, V, H):
        super().__init__()
        self.gated = nn.Linear(D, int(8 * D / 3))
        self.fraction_first = nn.Linear(D, int(2 / 3 * 4 * D), bias=False)
        self.summed = nn.Linear(D + V, 2 * D)
        self.named = nn.Linear(in_features=max(D, V), out_features=min(D, 2 * V) ** 2)
        self.bracketed = nn.Linear(D * (D + V), D * (V // 2) - (D - V) + math.ceil(D / 2))
        hidden = int(8 * D / 3)
        self.in_sixteens = nn.Linear(D, 16 * ((hidden + 15) // 16))
        self.added_up = nn.Linear(sum([D, V]), math.prod([D, V]))
        self.embedding = nn.Embedding(V, -(-D // 2), padding_idx=0)
        self.rnn = nn.GRU(D, D // 2, batch_first=True)
        self.norm = nn.LayerNorm((D,))
        self.convolution = nn.Conv2d(3, D, 3, padding=1)
        self.attention = nn.MultiheadAttention(H * D, H, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.Tanh(), nn.Linear(4 * D, D))
        self.heads = nn.ModuleList([nn.Linear(H * D, D) for _ in range(H)])
        self.blocks = nn.ModuleDict({"first": Block(D), "second": Block(D, 2 * D, p=0.2)})
        self.copies = nn.Sequential(*[copy.deepcopy(self.blocks["first"]) for _ in range(2)])
        self.table = nn.Parameter(torch.empty(D, V) * 0.02)
        self.from_a_shape = nn.Linear(self.table.shape[1], 1)


TEXTS = {
    "gated": "nn.Linear(D, int(8*D/3))",
    "fraction_first": "nn.Linear(D, int(2/3*4*D), bias=False)",
    "summed": "nn.Linear(D + V, 2*D)",
    "named": "nn.Linear(in_features=max(D, V), out_features=min(D, 2*V)**2)",
    "bracketed": "nn.Linear(D*(D + V), D*(V//2) - (D - V) + math.ceil(D/2))",
    "in_sixteens": "nn.Linear(D, 16*((int(8*D/3) + 15)//16))",
    "added_up": "nn.Linear(sum([D, V]), math.prod([D, V]))",
    "embedding": "nn.Embedding(V, -(-D//2), padding_idx=0)",
    "rnn": "nn.GRU(D, D//2, batch_first=True)",
    "norm": "nn.LayerNorm((D,))",
    "convolution": "nn.Conv2d(3, D, 3, padding=1)",
    "attention": "nn.MultiheadAttention(H*D, H, batch_first=True)",
    "mlp": "nn.Sequential(nn.Linear(D, 4*D), nn.Tanh(), nn.Linear(4*D, D))",
    "mlp.2": "nn.Linear(4*D, D)",
    "heads": "nn.ModuleList([nn.Linear(H*D, D) for _ in range(H)])",
    "heads.1": "nn.Linear(H*D, D)",
    "blocks": 'nn.ModuleDict({"first": Block(D), "second": Block(D, 2*D, p=0.2)})',
    "blocks.second.down": "nn.Linear(2*D, D)",
    "blocks.second.dropout": "nn.Dropout(0.2)",
    "blocks.first.scale": "nn.Parameter of shape [D]",
    "copies": "nn.Sequential(*[Block(D) for _ in range(2)])",
    "copies.1.up": "nn.Linear(D, 4*D)",
    "table": "nn.Parameter of shape [D, V]",
    "from_a_shape": "nn.Linear(V, 1)",
}
SHAPES = {
    "gated.weight": "[int(8*D/3), D]",
    "mlp.0.bias": "[4*D]",
    "heads.0.weight": "[D, H*D]",
    "rnn.weight_ih_l0": "[3*(D//2), D]",
    "attention.in_proj_weight": "[3*H*D, H*D]",
    "convolution.weight": "[D, 3, 3, 3]",
    "table": "[D, V]",
}


@pytest.fixture(scope="module")
def told():
    return tell(Toy, CHOICES)


@pytest.mark.parametrize("name", TEXTS)
def test_a_layer_is_told_as_it_was_written(told, name):
    assert told.layers[name] == TEXTS[name]


@pytest.mark.parametrize("name", SHAPES)
def test_a_parameters_shape_is_told_in_the_same_symbols(told, name):
    assert told.shapes[name] == SHAPES[name]


def test_every_parameter_belongs_to_something_that_is_told(told):
    for choice in (dict(D=10, V=3, H=5), *CHOICES):
        for name, _ in Toy(**choice).named_parameters():
            assert any(name == known or name.startswith(f"{known}.") for known in told.layers), name


def test_one_choice_of_numbers_is_enough(told):
    """An argument that has one number in every case is not taken for that number."""
    once = tell(Toy, CHOICES[:1])
    assert once.shapes["table"] == "[D, V]"
    assert {name: once.layers[name] for name in told.layers if name in once.layers} == told.layers


@pytest.mark.parametrize("numbers", [(7, 4, 2), (10, 3, 5), (12, 12, 1)])
def test_a_text_makes_what_the_module_has_for_numbers_that_were_not_tried(told, numbers):
    build = dict(zip("DVH", numbers))
    module, scope = Toy(**build), {"nn": nn, "math": math, "Block": Block, **build}
    for name, text in told.layers.items():
        if not text.startswith("nn.Parameter ") and int(name.partition("heads.")[2] or 0) < build["H"]:
            assert shapes(eval(text, scope)) == shapes(module.get_submodule(name)), text
    for name, shape in shapes(module).items():
        assert eval(told.shapes[name], scope) == shape, name


def shapes(module):
    return {name: list(parameter.shape) for name, parameter in module.named_parameters()}


class Based(nn.Module):
    def __init__(self, size, factor=2):
        super().__init__()
        self.size = size
        self.based = nn.Linear(size, factor * size)


WIDTH, SHARED = 64, {"bias": False}


class Wordy(Based):
    DEPTH = 5

    def __init__(self, D: int, V: int, hidden: int | None = None):
        super().__init__(D + V, factor=3)
        if hidden is None:
            hidden = 4 * D
        self.hidden: int = hidden
        wider = hidden
        wider += V
        sizes = [D, wider]
        self.over = nn.Linear(*sizes)
        self.left, self.right = (nn.Linear(D, wider, bias=False) for _ in range(2))
        self.known = nn.Linear(self.size, WIDTH, **SHARED)
        self.deep = nn.ModuleList(nn.Linear(D, self.hidden) for _ in range(self.DEPTH))
        self.taken = nn.Linear(self.over.out_features, 1).requires_grad_(False)
        self.either = nn.Linear(D, V or 3)
        self.block = Block(D, 2 * D)


def test_local_names_bases_and_constants_are_written_out():
    assert tell(Wordy, [dict(D=5, V=7), dict(D=8, V=6)]).layers == {
        "based": "nn.Linear(D + V, 3*(D + V))",
        "over": "nn.Linear(D, 4*D + V)",
        "left": "nn.Linear(D, 4*D + V, bias=False)",
        "right": "nn.Linear(D, 4*D + V, bias=False)",
        "known": "nn.Linear(D + V, 64, bias=False)",
        "deep": "nn.ModuleList([nn.Linear(D, 4*D) for _ in range(5)])",
        **{f"deep.{index}": "nn.Linear(D, 4*D)" for index in range(5)},
        "taken": "nn.Linear(4*D + V, 1)",
        "either": "nn.Linear(D, V)",
        "block": "Block(D, 2*D)",
        "block.scale": "nn.Parameter of shape [D]",
        "block.up": "nn.Linear(D, 2*D)",
        "block.down": "nn.Linear(2*D, D)",
        "block.dropout": "nn.Dropout(0.1)",
    }


def test_a_setting_that_shows_in_no_shape_is_told_of_the_right_layer():
    class Two(nn.Module):
        def __init__(self, D):
            super().__init__()
            self.before = nn.TransformerEncoderLayer(2 * D, 2, D, norm_first=True)
            self.after = nn.TransformerEncoderLayer(2 * D, 2, D)
            self.dropped = nn.Dropout(0.2)

    assert tell(Two, [dict(D=4), dict(D=6)]).layers == {
        "before": "nn.TransformerEncoderLayer(2*D, 2, D, norm_first=True)",
        "after": "nn.TransformerEncoderLayer(2*D, 2, D)",
        "dropped": "nn.Dropout(0.2)",
    }


def test_a_size_that_a_helper_computes_is_found_among_the_sizes_or_refused():
    class Found(nn.Module):
        def __init__(self, D, V):
            super().__init__()
            self.out = nn.Linear(widest(D, D + V), int_of(8 * D / 3))
            self.rounded = nn.Linear(D, rounded_up(8 * D / 3, 16))

    class Lost(nn.Module):
        def __init__(self, D, V):
            super().__init__()
            self.out = nn.Linear(D, power_of_two(V))

    class InABlock(nn.Module):
        def __init__(self, D, V):
            super().__init__()
            self.block = Block(D, 2 * D)
            self.block.down = nn.Linear(2 * D, power_of_two(V))

    class Appended(nn.Module):
        def __init__(self, D, V):
            super().__init__()
            self.layers = nn.ModuleList()
            for _ in range(V):
                self.layers.append(nn.Linear(D, D))

    choices = [dict(D=number, V=number + 2) for number in (5, 8, 30)]
    assert tell(Found, choices).layers == {
        "out": "nn.Linear(D + V, int(8*D/3))",
        "rounded": "nn.Linear(D, 16*((int(8*D/3) + 16 - 1)//16))",
    }
    with pytest.raises(
        RuntimeError, match=r"Lost\.out: a size in it differs from case to case.*Compute it in an __init__"
    ):
        tell(Lost, choices)
    with pytest.raises(RuntimeError, match=r"InABlock\.block: a size in it"):
        tell(InABlock, choices)
    with pytest.raises(RuntimeError, match=r"Appended\.layers: .*make a list of layers at once: nn\.ModuleList\("):
        tell(Appended, choices)


def power_of_two(number):
    power = 1
    while power < number:
        power *= 2
    return power


def int_of(number):
    return int(number)


def test_looking_at_a_module_leaves_torch_and_its_random_numbers_as_they_were():
    before = {kind: kind.__init__ for kind in (nn.Module, nn.Linear, Block)}
    torch.manual_seed(3)
    tell(Toy, CHOICES)
    drawn = torch.rand(1)
    torch.manual_seed(3)
    assert torch.equal(drawn, torch.rand(1))
    assert {kind: kind.__init__ for kind in before} == before


def test_threads_may_look_at_modules_and_build_others_at_once():
    def build(_):
        return [vars(Block(4)).keys() for _ in range(50)]

    with ThreadPoolExecutor(4) as pool:
        looked = [pool.submit(tell, Toy, CHOICES) for _ in range(2)]
        built = list(pool.map(build, range(6)))
        assert all(one.result().layers == looked[0].result().layers for one in looked)
    assert {tuple(sorted(keys)) for each in built for keys in each} == {tuple(sorted(vars(Block(4))))}


# What a student reads ------------------------------------------------------------------------------------------------


def declared(reference):
    reference.__module__ = "autograder.exercises.unit_99_test"
    settings = {"points": 1, "section": "nowhere", "outputs": "Y", "formula": "Y = …", "cases": [Case("a matrix")]}
    return exercise(**settings)(reference)


class MLP(nn.Module):
    def __init__(self, D: int):
        super().__init__()
        self.up, self.down = nn.Linear(D, int(8 * D / 3)), nn.Linear(int(8 * D / 3), D)
        self.block = Block(D)
        self.scale = nn.Parameter(torch.ones(D, 3 * D))

    def forward(self, X: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
        return self.down(self.up(X)) * self.scale[:, 0] + self.block.up(X).sum()


class Narrow(MLP):
    def __init__(self, D):
        super().__init__(D)
        self.up = nn.Linear(D, 1)


class Unscaled(MLP):
    def __init__(self, D):
        super().__init__(D)
        del self.scale


class Transposed(MLP):
    def __init__(self, D):
        super().__init__(D)
        self.scale = nn.Parameter(torch.ones(3 * D, D))


class OtherBlock(MLP):
    def __init__(self, D):
        super().__init__(D)
        self.block.upwards = self.block.up
        del self.block.up


class Unbiased(MLP):
    def __init__(self, D):
        super().__init__(D)
        self.block.up = nn.Linear(D, 4 * D, bias=False)


class Square(MLP):
    def __init__(self, D):
        super().__init__(D)
        self.block.down = nn.Linear(D, D)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (Narrow, "The layer should be nn.Linear(D, int(8*D/3)). (nn.Linear(in, out) stores"),
        (Narrow, "expected [int(8*D/3), D] = ["),
        (Unscaled, "Write `self.scale`, an nn.Parameter of shape [D, 3*D], in __init__, under this very name"),
        (Transposed, "scale has the wrong shape. It should be nn.Parameter of shape [D, 3*D]. expected [D, 3*D] = ["),
        (
            OtherBlock,
            "Write `self.block = Block(D)` in __init__, and in that of Block `self.up = nn.Linear(D, 4*D)`, under",
        ),
        (Unbiased, "The layer block.up has no bias."),
        (Square, "block.down.weight has the wrong shape. The layer should be nn.Linear(4*D, D)."),
    ],
)
def test_wrong_layers_are_told_in_symbols(made, said):
    frozen = freezing.freeze(declared(MLP), "seed")
    result = examine(frozen, made)
    assert result.problem == "wrong_parameters"
    assert said in plain(result.message)


@pytest.mark.parametrize("name", [one.name for unit in catalogue.units().values() for one in unit if one.is_module])
def test_no_layer_of_the_bank_is_told_in_numbers_of_a_case(name):
    one = catalogue.find_exercise(name)
    frozen = freezing.frozen_exercise(one, [])
    fixed = " ".join(one.result_shapes).split()  # as the 4 of "B N_Q 4", the numbers of a box
    for text in [*frozen.layers.values(), *frozen.shapes.values()]:
        assert all(int(digits) <= 3 or digits in fixed for digits in re.findall(r"(?<!\w)\d+(?!\*)", text)), text
    for case in freezing._graded_cases(one):
        for parameter, shape in shapes(one.reference(**case.build)).items():
            assert eval(frozen.shapes[parameter], dict(case.build)) == shape
        assert case.weights.keys() <= frozen.shapes.keys()
        assert {parameter.partition(".")[0] for parameter in case.weights} <= frozen.layers.keys()
