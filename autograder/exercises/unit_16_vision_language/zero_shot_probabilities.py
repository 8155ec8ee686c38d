"""Exercise 6: a classifier made of prompts."""

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_16_vision_language._shared import OF_DIRECTIONS


def _alike(inputs, sizes, rng):
    """Prompts of a class point to one side, with several lengths, and pictures are somewhat like one class."""
    C, D = sizes["C"], sizes["D"]
    classes = 1.5 * rng.standard_normal((C, 1, D))
    prompts = classes + inputs["prompts"]
    prompts *= np.where((prompts * classes).sum(axis=-1, keepdims=True) < 0, -1, 1)  # opposite ones would have no mean
    prompts *= rng.uniform(0.5, 3, (*inputs["prompts"].shape[:2], 1))
    images = inputs["images"] + classes[rng.integers(C, size=len(inputs["images"])), 0]
    return {"prompts": prompts.astype(inputs["prompts"].dtype), "images": images.astype(inputs["images"].dtype)}


def _case(text, temperature, **more):
    return Case(text, values={"temperature": temperature}, **more)


@exercise(
    points=2,
    section="Naming without training: zero-shot",
    source="Radford et al. 2021 (CLIP), section 3.1.4",
    outputs="P",
    formula="class_c = mean over p of prompt_cp / |prompt_cp|; P_nc = softmax over c of cos(image_n, class_c) / τ, for images"
    " [N, D] and prompts [C, P, D]",
    cases=[
        _case("several prompts for each class", 0.3),
        _case("a low temperature", 0.1),
        _case("one prompt for each class", 0.4, sizes={"P": 1}),
        _case("a temperature below 1/100", 0.005, edge=True, extreme=True),
        _case("one class", 0.5, edge=True, sizes={"C": 1}),
    ],
    draws=_alike,
    waived=OF_DIRECTIONS,
)
def zero_shot_probabilities(
    images: Float[Tensor, "N D"], prompts: Float[Tensor, "C P D"], temperature: float
) -> Float[Tensor, "N C"]:
    classes = F.normalize(prompts, dim=2).mean(dim=1)
    return (F.normalize(images) @ F.normalize(classes).mT / temperature).softmax(dim=1)


def _cosines(images, classes):
    return torch.cosine_similarity(images[:, None], classes[None], dim=-1)


def _unit(values):
    return values / values.norm(dim=-1, keepdim=True)


@zero_shot_probabilities.misconception
def long_prompts_count_more(images, prompts, temperature):
    """The prompts of a class are averaged as they are, so long vectors count more. Each prompt is divided by its length before
    the mean."""
    return (_cosines(images, prompts.mean(dim=1)) / temperature).softmax(dim=1)


@zero_shot_probabilities.misconception
def classes_not_normalised(images, prompts, temperature):
    """The mean of a class's prompts is used as it is, or their scores are averaged, which is the same. That mean is shorter than
    1, the more so the less its prompts agree; a cosine asks for the mean divided by its own length."""
    return (_unit(images) @ _unit(prompts).mean(dim=1).mT / temperature).softmax(dim=1)


@zero_shot_probabilities.misconception
def pictures_not_normalised(images, prompts, temperature):
    """The pictures' vectors are used as they are: a long one is surer of its class. A cosine divides them by their lengths."""
    return (images @ _unit(_unit(prompts).mean(dim=1)).mT / temperature).softmax(dim=1)


@zero_shot_probabilities.misconception
def first_prompt_alone(images, prompts, temperature):
    """Only the first prompt of each class counts. A class is the mean of all its prompts."""
    return (_cosines(images, prompts[:, 0]) / temperature).softmax(dim=1)


@zero_shot_probabilities.misconception
def probabilities_averaged(images, prompts, temperature):
    """One classifier is made of each prompt, and their probabilities are averaged. Here the vectors of a class's prompts are
    averaged, and there is one softmax."""
    cosines = torch.einsum("nd,cpd->npc", _unit(images), _unit(prompts))
    return (cosines / temperature).softmax(dim=2).mean(dim=1)


@zero_shot_probabilities.misconception
def softmax_over_pictures(images, prompts, temperature):
    """The softmax runs over the pictures, so each class sums to 1. Each picture has a distribution over the classes: dim=1 of
    [N, C]."""
    return (_cosines(images, _unit(prompts).mean(dim=1)) / temperature).softmax(dim=0)


@zero_shot_probabilities.misconception
def multiplied_by_the_temperature(images, prompts, temperature):
    """The cosines are multiplied by the temperature. They are divided by it: a low temperature makes the softmax sharp."""
    return (_cosines(images, _unit(prompts).mean(dim=1)) * temperature).softmax(dim=1)


@zero_shot_probabilities.alternative
def by_cosine_similarity(images, prompts, temperature):
    return (_cosines(images, _unit(prompts).sum(dim=1)) / temperature).softmax(dim=-1)


@zero_shot_probabilities.alternative
def class_by_class(images, prompts, temperature):
    columns = []
    for own in prompts:
        mean = sum(one / one.norm() for one in own)
        columns.append(_unit(images) @ (mean / mean.norm()))
    return torch.softmax(torch.stack(columns, dim=1) / temperature, dim=1)


@zero_shot_probabilities.alternative
def with_einsum(images, prompts, temperature):
    classes = _unit(torch.einsum("cpd->cd", _unit(prompts)))
    return torch.einsum("nd,cd->nc", _unit(images), classes).div(temperature).softmax(dim=-1)
