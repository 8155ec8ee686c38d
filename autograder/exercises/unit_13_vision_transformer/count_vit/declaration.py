"""Exercise 7: the parameters of a Vision Transformer, from its sizes."""

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise

KNOWN = {  # B/16, L/16, H/14
    "size": (224, 224, 224),
    "P": (16, 16, 14),
    "C": (3, 3, 3),
    "D": (768, 1024, 1280),
    "L": (12, 24, 32),
    "D_F": (3072, 4096, 5120),
    "classes": (1000, 1000, 1000),
}


RANGES = {"P": (3, 9), "rows": (2, 9), "C": (2, 7), "D": (11, 40), "L": (2, 8), "more": (5, 60), "classes": (41, 99)}


def _drawn(inputs, sizes, rng):
    """Models so small that a single vector of D numbers counts."""
    S, found = sizes["S"], {}
    for name, (least, most) in RANGES.items():
        found[name] = rng.choice(np.arange(least, most), S, replace=most - least < S)
    found |= {"size": found["P"] * found.pop("rows"), "D_F": found["D"] + found.pop("more")}
    return found


def _known(inputs, rng):
    for name, numbers in KNOWN.items():
        inputs[name][:] = numbers


def _wide(inputs, rng):
    """Models so wide that even double precision cannot count their parameters."""
    inputs["D"][:] = 30_000_019 + 2 * rng.permutation(1000)[: len(inputs["D"])]


def _widest(inputs, rng):
    """Counts that 64 bits hold, and four times the counts do not."""
    inputs["D"][:] = inputs["D_F"][:] = 800_000_011 + 2 * rng.permutation(1000)[: len(inputs["D"])]
    inputs["L"][:] = 1


def _edges(inputs, rng):
    """Patches of one pixel, a single class, a hidden width as large as the width: nothing of them is left out."""
    inputs["size"][:], inputs["P"][:], inputs["classes"][:] = (5, 12, 12), (1, 4, 3), (7, 1, 12)
    inputs["D_F"][2] = inputs["D"][2]


def _known_but_for_depth(inputs, rng):
    _known(inputs, rng)
    inputs["L"][:], inputs["classes"][:] = (6, 18, 31), (10, 1000, 21841)


def _one_patch(inputs, rng):
    inputs["size"][:] = inputs["P"]


def _grey(inputs, rng):
    inputs["C"][:] = 1


@exercise(
    points=2,
    section="Counting a ViT",
    source="Dosovitskiy et al. 2021, table 1; the counts of torchvision and timm",
    outputs="parameters",
    formula="patch embedding [C·P², D]; class token [D]; positions [N + 1, D] with N = (size/P)²; L blocks, each with four"
    " projections [D, D] in its attention, an MLP [D, D_F] and [D_F, D], and two LayerNorms; one LayerNorm after the last block;"
    " head [D, classes]; each linear layer has a bias, each LayerNorm D weights and D biases; whole numbers [S]",
    cases=[
        Case("a few models"),
        Case("ViT-B/16, ViT-L/16 and ViT-H/14", sizes={"S": 3}, edit=_known),
        Case("one model", sizes={"S": 1}),
        Case("images with one channel", edit=_grey),
        Case("images that are a single patch", edit=_one_patch),
        Case("very wide models", edit=_wide),
        Case("sizes at their edges", sizes={"S": 3}, edit=_edges),
        Case("known widths, other depths and heads", sizes={"S": 3}, edit=_known_but_for_depth, edge=True),
        Case("as wide as 64 bits can count", edit=_widest, edge=True),
    ],
    draws=_drawn,
    differentiable=False,
)
def count_vit(
    size: Int[Tensor, "S"],
    P: Int[Tensor, "S"],
    C: Int[Tensor, "S"],
    D: Int[Tensor, "S"],
    L: Int[Tensor, "S"],
    D_F: Int[Tensor, "S"],
    classes: Int[Tensor, "S"],
) -> Int[Tensor, "S"]:
    parameters = []
    for s, p, c, d, blocks, f, k in zip(*(one.tolist() for one in (size, P, C, D, L, D_F, classes))):
        once, often = [(p * p * c, d), (d, k)], [(d, d), (d, 3 * d), (d, f), (f, d)]
        once, often = (sum(n * m + m for n, m in layers) for layers in (once, often))
        rows = (s // p) ** 2 + 1
        parameters.append(once + rows * d + d + 2 * d + blocks * (often + 2 * (d + d)))
    return torch.tensor(parameters, device=size.device)


def _count(sizes, **others):
    """The count with other terms in the place of those that are named; each is given as a function of the sizes by name."""
    size, P, C, D, L, D_F, classes = sizes
    known = dict(zip(("size", "P", "C", "D", "L", "D_F", "classes"), sizes), N=(size // P) ** 2)
    terms = {
        "patches": C * P * P * D + D,
        "token": D,
        "positions": (known["N"] + 1) * D,
        "blocks": L * (4 * D * D + 4 * D + 2 * D * D_F + D_F + D + 4 * D),
        "norm": 2 * D,
        "head": D * classes + classes,
    }
    return sum({**terms, **{name: term(**known) for name, term in others.items()}}.values())
