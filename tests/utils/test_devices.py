"""On torch's device without numbers, tensors of two devices do not meet unseen."""

import pytest
import torch

from utils.checking.devices import EXPECTED, DevicesApart

HERE, THERE = torch.ones(3, 3), torch.ones(3, 3, device="meta")
REFUSED = {
    "a product": lambda: THERE @ HERE,
    "a sum": lambda: THERE + HERE,
    "a table of the CPU": lambda: torch.nn.functional.embedding(torch.zeros(2, dtype=torch.long, device="meta"), HERE),
    "torch.where": lambda: torch.where(HERE > 0, THERE, THERE),
}
ALLOWED = {
    "a number without axes": lambda: THERE + torch.tensor(1.0),
    "indices on the CPU": lambda: THERE[torch.arange(2)],
    "a copy to the device": lambda: HERE.to("meta"),
    "all on one device": lambda: (THERE @ THERE).softmax(dim=-1),
}


@pytest.mark.parametrize("operate", REFUSED.values(), ids=REFUSED)
def test_two_devices_are_refused(operate):
    with DevicesApart(), pytest.raises(RuntimeError, match=EXPECTED):
        operate()


@pytest.mark.parametrize("operate", ALLOWED.values(), ids=ALLOWED)
def test_what_a_gpu_allows_is_allowed(operate):
    with DevicesApart():
        assert operate().device.type == "meta"


def test_what_is_copied_into_a_tensor_of_the_cpu_stays_there():
    with DevicesApart():
        kept = torch.zeros(3, 3)
        kept[...] = THERE
    assert kept.device.type == "cpu"
