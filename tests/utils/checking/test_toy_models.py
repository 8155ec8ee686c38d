"""What an exercise is given besides tensors: toy decoders that behave like models, travel as JSON, and notice endless loops."""

import copy
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch

from autograder.bank.cases.drawing import VISIBLE_SEED
from autograder.bank.catalogue import find_exercise
from autograder.bank.freezing import freeze
from utils.checking import asking, toy_models
from utils.checking.concluding import examine
from utils.checking.messages.shapes import symbolic
from utils.checking.observing.observe import observe
from utils.checking.packs.packing import pack, unpack_case, unpack_value
from utils.checking.records import DrawnCase, Helper

V, D, H = 9, 4, 3


def arrays(**shapes):
    rng = np.random.default_rng(0)
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


DECODER = Helper("ToyDecoder", arrays(E=(V, D), W=(D, D), U=(D, V), b=(V,)), limit=6)
CACHED = Helper("ToyCachedDecoder", arrays(E=(V, D), P=(12, D), W=(2, D, 3 * D), U=(D, V)), limit=10)
STEP = Helper("ToyAttentionStep", arrays(E=(V, D), W=(D, D), K=(D, H), C=(H, D), U=(D, V)))


def build(helper):
    return toy_models.build(helper, torch.from_numpy)


def test_a_helper_comes_back_from_json_as_it_was():
    back = unpack_value(json.loads(json.dumps(pack(DECODER))))
    assert (back.helper, back.limit) == ("ToyDecoder", 6) and back.arguments.keys() == DECODER.arguments.keys()
    assert all(np.array_equal(back.arguments[name], DECODER.arguments[name]) for name in back.arguments)


def test_a_toy_decoder_answers_a_batch_as_it_answers_each_sentence_alone():
    words, states = torch.tensor([3, 5, 8]), torch.randn(3, D, generator=torch.Generator().manual_seed(0))
    logits, new = build(DECODER)(words, states)
    assert logits.shape == (3, V) and new.shape == (3, D)
    for row in range(3):
        alone, state = build(DECODER)(words[row : row + 1], states[row : row + 1])
        assert torch.allclose(alone[0], logits[row], atol=1e-6) and torch.allclose(state[0], new[row], atol=1e-6)


def test_a_toy_step_gives_padding_no_weight():
    states = torch.randn(2, 5, H, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[True] * 5, [True, True, False, False, False]])
    logits, new, a = build(STEP)(torch.tensor([1, 4]), torch.zeros(2, D), states, mask)
    assert (logits.shape, new.shape, a.shape) == ((2, V), (2, D), (2, 5))
    assert torch.allclose(a.sum(-1), torch.ones(2)) and (a[1, 2:] == 0).all() and (a[0] > 0).all()


@pytest.mark.parametrize(
    "words, states",
    [
        (torch.tensor(3), torch.zeros(1, D)),
        (torch.tensor([3]), torch.zeros(D)),
        (torch.tensor([3]), torch.zeros(2, D)),
        (torch.tensor([[3, 4]]), torch.zeros(1, D)),
        (torch.tensor([3.0]), torch.zeros(1, D)),
        (3, torch.zeros(1, D)),
        ([3], torch.zeros(1, D)),
    ],
)
def test_a_toy_refuses_whatever_is_no_batch_and_says_what_it_takes(words, states):
    with pytest.raises(ValueError, match=r"takes tokens y \[B\]"):
        build(DECODER)(words, states)


def triangle(n, m):
    """Who of n new tokens may see what, behind m others."""
    return torch.ones(n, m + n).tril(m).bool()


def masked(**others):
    """A model of three positions and its arrays: position 0 attends to itself, the others to all up to their own."""
    given = arrays(P=(H, D), W=(1, D, 3 * D), U=(D, V))
    return build(
        Helper("ToyMaskedModel", {**given, "mask": np.tri(3, dtype=bool), "shares": np.ones(2, "f4"), **others})
    )


def test_a_toy_under_a_mask_gives_a_sequence_the_same_in_any_batch_and_without_padding():
    X = torch.randn(2, 3, H, generator=torch.Generator().manual_seed(0))
    X[1, 2:] = 0
    Y = masked()(X)
    assert Y.shape == (2, 3, V) and torch.allclose(masked()(X[1]), Y[1], atol=1e-6)
    assert torch.allclose(masked()(X[None])[0], Y, atol=1e-6)
    full, padded = (masked(mask=np.ones((3, 3), dtype=bool))(one) for one in (X[1], X[1].roll(1, 0)))
    assert torch.allclose(full.roll(1, 0), padded, atol=1e-5), "the padding has no weight wherever it stands"


def test_a_toy_under_a_mask_passes_on_nothing_where_there_is_nothing_to_attend_to():
    X = torch.randn(3, H, generator=torch.Generator().manual_seed(0), requires_grad=True)
    Y = masked(mask=np.tri(3, k=-1, dtype=bool), shares=np.array([0, 1], "f4"))(X)
    (slope,) = torch.autograd.grad(Y[1].square().sum(), X)
    assert (Y[0] == 0).all() and (slope[0] != 0).any() and (slope[1:] == 0).all(), (
        "one key: its weight is 1 in any case"
    )
    with pytest.raises(ValueError, match=r"takes X \[\*B, 3, 3\]; it was given \[2, 3\]"):
        masked()(X[:2])


def test_a_toy_whose_keys_and_values_are_kept_says_what_it_says_to_all_at_once():
    tokens, places = torch.tensor([[3, 1, 8, 5]]), torch.arange(4)
    whole, keys, _ = build(CACHED)(tokens, places, triangle(4, 0))
    first, K, values = build(CACHED)(tokens[:, :3], places[:3], triangle(3, 0))
    last, k, _ = build(CACHED)(tokens[:, 3:], places[3:], triangle(1, 3), K, values)
    assert keys.shape == (1, 2, 4, D)
    assert torch.allclose(torch.cat([first, last], dim=1), whole, atol=1e-6)
    assert torch.allclose(torch.cat([K, k], dim=2), keys, atol=1e-6)
    front, _, _ = build(CACHED)(tokens[:, 3:], places[3:], triangle(1, 3), K.flip(2), values.flip(2))
    assert (front - last).abs().max() > 1e-2, "the order of what is kept matters"


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"tokens": torch.tensor([3])}, r"tokens are \[B, n\].* given \[1\]"),
        ({"positions": torch.tensor(2)}, r"positions should be \[1\] where n = 1 .* m = 2 .* given \[\]"),
        ({"positions": 2}, "given int"),
        ({"mask": torch.ones(1, 2).bool()}, r"mask should be \[1, 3\].* given \[1, 2\]"),
        ({"mask": torch.ones(1, 3)}, "mask of torch.float32"),
        ({"mask": None}, "mask should be .* given NoneType"),
        ({"K": torch.zeros(1, 2, 3, D)}, r"mask should be \[1, 4\] where .* m = 3 in the cache"),
        ({"V": torch.zeros(1, 2, 3, D)}, rf"V should be \[1, 2, 2, {D}\].* given \[1, 2, 3, {D}\]"),
        ({"K": None, "mask": triangle(1, 0)}, "V should be None where .* m = 0"),
        ({"V": None}, "V should be .* given NoneType"),
        ({"positions": torch.tensor([12])}, "positions are 0 to 11"),
    ],
)
def test_a_toy_whose_keys_and_values_are_kept_says_what_it_was_given(changed, said):
    kept = {"K": torch.zeros(1, 2, 2, D), "V": torch.zeros(1, 2, 2, D)}
    right = {"tokens": torch.tensor([[3]]), "positions": torch.tensor([2]), "mask": triangle(1, 2), **kept}
    assert build(CACHED)(**right)[0].shape == (1, 1, V)
    with pytest.raises(ValueError, match=said):
        build(CACHED)(**{**right, **changed})


def test_a_toy_whose_keys_and_values_are_kept_counts_the_tokens_that_it_is_fed():
    decoder, tokens = build(CACHED), torch.tensor([[3, 1, 8, 5]])
    for _ in range(2):
        decoder(tokens, torch.arange(4), triangle(4, 0))
    with pytest.raises(toy_models.AskedTooOften, match="more than 10 tokens"):
        decoder(tokens, torch.arange(4), triangle(4, 0))


def test_a_toy_that_is_asked_for_more_than_there_is_says_what_to_look_at():
    decoder, states = build(DECODER), torch.zeros(2, D)
    for _ in range(3):
        decoder(torch.tensor([1, 1]), states)
    with pytest.raises(toy_models.AskedTooOften, match="6 words at most"):
        decoder(torch.tensor([1, 1]), states)


def test_the_limit_does_not_count_in_the_call_before_the_one_that_counts():
    """A function is called on other numbers first, and those may need more words."""
    case = DrawnCase("p", "result", {"decoder": DECODER, "s": np.zeros((2, D), np.float32)})

    def asks_three_times(decoder, s):
        for _ in range(3):
            logits, s = decoder(torch.tensor([1, 1]), s)
        return logits

    assert observe(asks_three_times, case).failure is None
    assert observe(asks_three_times, unpack_case(json.loads(json.dumps(pack(case))))).failure is None


def emptied(helper):
    """The helper, after everything that it counts or is limited by was set to 0."""
    for name in {"asked", "steps", "reads", "rows", "begun", "limit"} & vars(helper).keys():
        object.__setattr__(helper, name, 0)
    return helper


def new_of_the_class(helper):
    names = ("E", "P", "W", "K", "C", "U", "b")
    return type(helper)(**{name: getattr(helper, name) for name in names if hasattr(helper, name)})


def of_a_class_of_ones_own(helper):
    helper.__class__ = type("Own", (type(helper),), {"too_much": staticmethod(lambda asked, limit: "")})
    return helper


SET_BACK = (
    emptied,
    copy.copy,
    copy.deepcopy,
    lambda helper: pickle.loads(pickle.dumps(helper)),
    new_of_the_class,
    of_a_class_of_ones_own,
)


def fed(times, others=lambda helper: helper):
    """Feeds two words as often, each time to what `others` makes of the helper."""

    def feeds(decoder, s):
        for _ in range(times):
            logits, s = others(decoder)(torch.tensor([1, 1]), s)
        return logits

    return feeds


def read_in_pieces(times, others=lambda helper: helper):
    def reads(decoder):
        for _ in range(times):
            logits, _, _ = others(decoder)(torch.tensor([[1, 1]]), torch.arange(2), triangle(2, 0))
        return logits

    return reads


def limited_cases(limit):
    """What asks a helper a number of times for two words, and a case with a limit, for each helper that has one."""
    states, given = np.zeros((2, D), np.float32), {"decoder": replace(DECODER, limit=limit)}
    yield fed, DrawnCase("p", "result", {**given, "s": states})
    yield read_in_pieces, DrawnCase("p", "result", {"decoder": replace(CACHED, limit=limit)})


@pytest.mark.parametrize("others", SET_BACK)
def test_no_count_of_what_is_asked_can_be_set_back(others):
    for ask, case in limited_cases(6):
        refused = observe(ask(4), case).failure
        assert observe(ask(3), case).failure is None and refused.type == "AskedTooOften"
        within, beyond = (observe(ask(times, others), case).failure for times in (3, 4))
        assert within is None, "what is asked of a copy is counted once"
        assert beyond is not None and (beyond.type, beyond.text) == (refused.type, refused.text) and beyond.helper


def test_trusted_code_may_ask_as_it_likes_and_what_was_refused_does_not_count():
    for ask, case in limited_cases(6):
        assert observe(ask(4, emptied), case, trusted=True).failure is None

    def stops_when_refused(decoder, s):
        for _ in range(9):
            try:
                logits, s = decoder(torch.tensor([1, 1]), s)
            except RuntimeError:
                break
        return logits

    _, case = next(limited_cases(6))
    assert observe(stops_when_refused, case).failure is None


def test_what_was_counted_cannot_be_put_back():
    asking.note(words=3)
    before = asking.so_far()
    asking.note(words=2, begun=1)
    assert asking.so_far().since(before) == asking.Asked(words=2, begun=1)
    assert not {"__setstate__", "__setitem__", "clear", "send"} & set(dir(asking._STOCKS[0]))


def test_numbers_of_the_call_before_keep_rows_together():
    words = np.array([[5, 4, 2, 0], [6, 2, 0, 0], [3, 7, 8, 2]])
    seen = []

    def keeps(words, lengths):
        seen.append((words.clone(), lengths.clone()))
        return words.sum()

    observe(keeps, DrawnCase("p", "result", {"words": words, "lengths": np.array([3, 2, 4])}))
    (first, lengths), _ = seen[0], seen[1]
    assert not torch.equal(first, torch.from_numpy(words))
    for row, length in zip(first, lengths):
        assert row[length - 1] == 2 and (row[length:] == 0).all()


def test_a_size_that_happens_to_be_equal_is_not_spoken_of_by_another_ones_symbol():
    assert symbolic((6, 6, 11), {"B": 6, "T": 7, "V": 11}) == "[B, 6, V]"
    assert symbolic((3, 6, 6), {"B": 3, "N": 6}, ("B", "N", "N")) == "[B, N, N]"
    result = examine(
        freeze(find_exercise("greedy_decode"), VISIBLE_SEED), lambda decoder, s, max_length: s[:, :1].long()
    )
    assert "expected [B, L]" in result.message and "D_H" not in result.message.split("expected")[1]


def a_network(N=3, D=4, V=5, L=2):
    rng = np.random.default_rng(0)
    shapes = {"X": (N, D), "W": (L, 8, D, D), "b": (L, 8, D), "g": (L, D), "head": (V, D)}
    network = Helper("ToyNetwork", {name: rng.standard_normal(shape).astype("f4") for name, shape in shapes.items()})
    adapter = Helper("ToyAdapter", {"gains": np.linspace(0.5, 2, 8).astype("f4")})
    inputs = {"network": network, "adapter": adapter}
    return DrawnCase("a network", "result", inputs, gradient=(0,))


def adapted(network, adapter):
    network.requires_grad_(False)
    for block in network.blocks:
        block.attention["query"] = adapter(block.attention["query"])
    return network


def test_a_network_that_comes_back_is_judged_by_what_it_says_and_by_which_parameters_learn():
    seen = observe(adapted, a_network())
    assert not seen.failure and seen.outputs[0].shape == (3, 5)
    reached = {name for name, gradient in seen.gradients.items() if gradient is not None}
    assert reached == {f"blocks.{number}.attention.query.gain" for number in (0, 1)}
    assert "head.weight" in seen.gradients and not seen.unstable


def test_a_network_whose_weights_still_learn_shows_it():
    seen = observe(lambda network, adapter: network, a_network())
    assert all(gradient is not None for gradient in seen.gradients.values())


def test_a_network_has_layers_whose_names_hold_others_and_a_norm_whose_weight_is_in_no_linear_layer():
    network = build(a_network().inputs["network"])
    linear = {name for name, layer in network.named_modules() if isinstance(layer, torch.nn.Linear)}
    parts = [f"{part}.{name}" for part, names in network.LAYERS.items() for name in names]
    assert linear == {"head", *(f"blocks.{number}.{name}" for number in (0, 1) for name in parts)}
    assert {"attention.output", "attention.output_gate", "mlp.gate"} <= set(parts)
    others = {name for name, _ in network.named_parameters() if name.rpartition(".")[0] not in linear}
    assert others == {"blocks.0.norm.weight", "blocks.1.norm.weight"}


def test_another_network_has_other_names_and_parameters_that_belong_to_no_layer():
    given = a_network().inputs["network"]
    network, other = (build(replace(given, helper=helper)) for helper in ("ToyNetwork", "ToyTower"))
    own = [{name.rpartition(".")[2] for name, _ in one.named_modules()} for one in (network, other)]
    assert own[0] & own[1] <= {"", "0", "1"} and other.answer().shape == network.answer().shape
    assert {"offset", "tower.1.gain", "tower.2.gain"} <= {name for name, _ in other.named_parameters()}
    shift = build(Helper("ToyShift", {"gains": np.arange(8, dtype="f4")}))
    adapted = shift(other.tower[-1])
    assert torch.equal(adapted(torch.zeros(1, 4))[0], torch.arange(5.0)) and not hasattr(adapted, "gain")


def test_an_adapter_takes_linear_layers_alone():
    given = a_network().inputs
    with pytest.raises(TypeError, match="takes an nn.Linear; what came is of type RMSNorm"):
        build(given["adapter"])(build(given["network"]).blocks[0].norm)


def test_what_a_function_does_to_a_list_reaches_no_other_call():
    case = a_network()
    case = replace(case, inputs={"names": ["query"], **case.inputs})

    def pops(network, names, adapter):
        network.blocks[0].attention[names.pop()].requires_grad_(False)
        return network

    assert not observe(pops, case).failure and case.inputs["names"] == ["query"]


def test_of_several_things_that_are_given_the_one_that_refuses_is_named():
    frozen = freeze(find_exercise("add_adapters"), VISIBLE_SEED)
    message = examine(frozen, lambda network, names, adapter: adapter(names[0])).message
    assert "`adapter`, as your code calls it, refuses" in message and "of type str" in " ".join(message.split())


def test_what_a_new_module_starts_with_is_seen():
    class Module(torch.nn.Module):
        def __init__(self, D):
            super().__init__()
            self.A, self.B = torch.nn.Parameter(torch.randn(D, D)), torch.nn.Parameter(torch.zeros(D))
            self.C = torch.nn.Parameter(torch.ones(D))

        def forward(self, X):
            return X @ self.A + self.B * self.C

    weights = {"A": np.ones((3, 3), "f4"), "B": np.ones(3, "f4"), "C": np.ones(3, "f4")}
    case = DrawnCase("starts", "result", {"X": np.ones((2, 3), "f4")}, build={"D": 3}, weights=weights, starts="A B C")
    assert observe(Module, case).starts == {"A": "different", "B": "zeros", "C": "equal"}
