"""On another device, tensors of two devices do not meet unseen, and numbers are there for whatever asks for them."""

import re

import numpy as np
import pytest
import torch
from torch import nn

from utils.checking.observing.devices import EXPECTED, NO_DOUBLE, THERE, other_device

REFUSED = {
    "a product": lambda there, here: there @ here,
    "a sum": lambda there, here: there + here,
    "numpy": lambda there, here: there.numpy(),
    "a table on the CPU": lambda there, here: nn.functional.embedding(there.long(), here),
    "a table on the CPU, by an index": lambda there, here: here[there[0].long()],
    "torch.where": lambda there, here: torch.where(here > 0, there, there),
    "a layer that was left there": lambda there, here: nn.Linear(3, 2)(there),
}
ALLOWED = {
    "a number without axes": lambda there, here: torch.tensor(1.0) + there,
    "indices on the CPU": lambda there, here: there[torch.arange(2)],
    "a copy to the device": lambda there, here: here.to(there.device),
    "what is made like another": lambda there, here: torch.zeros(3, device=there.device) + torch.ones_like(there),
    "what is made of a list": lambda there, here: torch.tensor([1.0, 2.0, 3.0], device=there.device) + there,
    "what is made of a list, of its type": lambda there, here: there.new_tensor([1.0, 2.0, 3.0]) + there,
    "what is copied into it": lambda there, here: there.clone().copy_(here),
    "a part that is set": lambda there, here: there.clone().index_fill_(0, there[0].long(), 0.0),
    "all on one device": lambda there, here: (there @ there).softmax(dim=-1),
    "a layer that was moved": lambda there, here: nn.MultiheadAttention(3, 1).to(THERE)(there, there, there)[0],
    "a packed sequence": lambda there, here: (
        nn.GRU(3, 2).to(THERE)(nn.utils.rnn.pack_padded_sequence(there[:, None], torch.tensor([3])))[0].data
    ),
    "fused attention": lambda there, here: nn.functional.scaled_dot_product_attention(there, there, there),
}
HERE = {
    "numbers that are read": lambda there: torch.tensor(there.tolist()),
    "what is moved back": lambda there: there.cpu(),
    "what is copied into a tensor of the CPU": lambda there: torch.zeros(3, 3).copy_(there),
}


def _there():
    return torch.ones(3, 3).to(THERE)


@pytest.mark.parametrize("operate", REFUSED.values(), ids=REFUSED)
def test_two_devices_are_refused(operate):
    with other_device(), pytest.raises(RuntimeError, match=EXPECTED):
        operate(_there(), torch.ones(3, 3))


@pytest.mark.parametrize("operate", ALLOWED.values(), ids=ALLOWED)
def test_what_a_gpu_allows_is_allowed(operate):
    with other_device():
        assert operate(_there(), torch.ones(3, 3)).device.type == THERE


@pytest.mark.parametrize("operate", HERE.values(), ids=HERE)
def test_what_leaves_the_device_is_on_the_cpu(operate):
    with other_device():
        result = operate(_there())
    assert result.device.type == "cpu" and torch.equal(result, torch.ones(3, 3))


def test_what_asks_for_numbers_gets_them():
    with other_device():
        there = torch.arange(6.0).to(THERE)
        assert there.sum().item() == 15 and (there > 4).any() and int(there.argmax()) == 5
        assert len(there[there > 2]) == 3 and there.nonzero().shape == (5, 1)


def test_a_change_in_place_is_seen():
    with other_device():
        there = torch.zeros(4).to(THERE)
        view = there[1:3]
        view += 1
        there[3] = 5
        assert there.tolist() == [0, 1, 1, 5]


def test_a_shape_that_is_changed_in_place_is_followed():
    with other_device():
        there = torch.arange(6.0).to(THERE).view(2, 3)
        assert there.unsqueeze_(0).transpose_(1, 2).shape == there.shape == (1, 3, 2)
        assert there.squeeze_(0).tolist() == [[0, 3], [1, 4], [2, 5]] and (there * 2).sum().item() == 30


IN_DOUBLE = {
    "made there": lambda there: torch.zeros(3, dtype=torch.float64, device=THERE),
    "converted there": lambda there: there.double(),
    "moved as it is": lambda there: torch.zeros(3, dtype=torch.float64).to(THERE),
    "made of numbers of NumPy": lambda there: torch.tensor(np.ones(3), device=THERE),
    "a range": lambda there: torch.arange(0, 4, dtype=torch.float64, device=THERE),
    "complex numbers": lambda there: torch.polar(torch.ones(3, dtype=torch.float64), torch.ones(3).double()).to(THERE),
    "a layer": lambda there: nn.Linear(3, 2).double().to(THERE),
}


@pytest.mark.parametrize("made", IN_DOUBLE.values(), ids=IN_DOUBLE)
def test_a_device_without_double_precision_refuses_it_as_apples_does(made):
    with other_device(double=False), pytest.raises(TypeError, match=re.escape(NO_DOUBLE)):
        made(_there())
    with other_device():
        assert made(_there()) is not None, "another has it"


def test_double_precision_on_the_cpu_is_allowed_beside_a_device_without_it():
    with other_device(double=False):
        there = _there()
        back = there.cpu().double().exp().to(there.dtype).to(there.device)
        assert back.device.type == THERE and back.dtype == torch.float32
        assert (there * torch.tensor(2.0, dtype=torch.float64)).dtype == torch.float32, "a number without axes"
