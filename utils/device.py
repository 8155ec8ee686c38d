"""Chooses where tensors live: CUDA, Apple's MPS or the CPU; COURSE_DEVICE overrides."""

import os

import torch


def device() -> torch.device:
    """Returns the device that lessons, checks and grading run on.

    The environment variable COURSE_DEVICE ("cpu", "cuda", "cuda:1", "mps") overrides the choice. cuDNN's layers then compute in
    single precision, as all others do, and not in TF32, which keeps three digits.

    Raises:
        RuntimeError: COURSE_DEVICE names a device that this machine or this build of torch does not have.
    """
    torch.backends.cudnn.allow_tf32 = False
    asked = os.environ.get("COURSE_DEVICE", "").strip()
    if asked:
        return _usable(asked)
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available() and _has_bfloat16("mps"):
        return torch.device("mps")
    return torch.device("cpu")


def computes(where: torch.device | str) -> bool:
    """Whether a device can be used still: an error within a GPU, such as an index out of range, ends all that CUDA does
    for the process."""
    try:
        return torch.ones(2, device=where).sum().item() == 2
    except RuntimeError:
        return False


def _has_bfloat16(name: str) -> bool:
    """Whether a device has the shortest type in which checks come: Apple's has it from macOS 14 on."""
    try:
        return torch.ones(2, dtype=torch.bfloat16, device=name).sum().item() == 2
    except (RuntimeError, TypeError):
        return False


def _usable(name: str) -> torch.device:
    try:
        chosen = torch.device(name)
        torch.empty(1, device=chosen)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise RuntimeError(
            f"COURSE_DEVICE={name!r} cannot be used here ({reason}). Unset it, or set it to cpu, cuda or mps."
        ) from None
    return chosen
