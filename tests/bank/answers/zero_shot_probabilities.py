"""Answers to zero_shot_probabilities (assignment 16)."""

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong

# ---------------------------------------------------------------- right


@right("The prompts' directions are added up, not averaged: the length of a class does not matter")
def summed_prompts(images, prompts, temperature):
    classes = F.normalize(F.normalize(prompts, dim=-1).sum(1), dim=-1)
    return torch.softmax(F.normalize(images, dim=-1) @ classes.T / temperature, dim=-1)


@right("Each picture against each prompt first, the mean of these cosines divided by the length of the class")
def cosines_with_all_prompts(images, prompts, temperature):
    a = images / images.norm(dim=-1, keepdim=True)
    b = prompts / prompts.norm(dim=-1, keepdim=True)
    means = torch.einsum("nd,cpd->ncp", a, b).mean(-1)
    return (means / b.mean(1).norm(dim=-1) / temperature).softmax(-1)


@right("From distances: for vectors of length 1 the cosine is 1 minus half of the squared distance")
def by_distances(images, prompts, temperature):
    a = F.normalize(images, dim=1)
    c = F.normalize(F.normalize(prompts, dim=2).mean(1), dim=1)
    squares = (a[:, None] - c[None]).square().sum(-1)
    return F.softmax(-squares / (2 * temperature), dim=1)


@right("Class by class, the softmax by hand with the largest score subtracted")
def class_by_class(images, prompts, temperature):
    columns = []
    for of_class in prompts:
        vector = torch.stack([p / p.norm() for p in of_class]).mean(0)
        columns.append((images @ vector) / (images.norm(dim=-1) * vector.norm()) / temperature)
    scores = torch.stack(columns, dim=1)
    powers = (scores - scores.amax(1, keepdim=True)).exp()
    return powers / powers.sum(1, keepdim=True)


@right("Cosines as products divided by the lengths at the end, and logsumexp")
def lengths_at_the_end(images, prompts, temperature):
    classes = (prompts / torch.linalg.vector_norm(prompts, dim=-1, keepdim=True)).mean(dim=1)
    lengths = torch.outer(torch.linalg.vector_norm(images, dim=-1), torch.linalg.vector_norm(classes, dim=-1))
    scores = images.matmul(classes.mT) / lengths / temperature
    return (scores - scores.logsumexp(-1, keepdim=True)).exp()


@right("Every vector is divided by its largest entry before its length is taken")
def scaled_before_lengths(images, prompts, temperature):
    def directions(x):
        x = x / x.detach().abs().amax(-1, keepdim=True)
        return x / x.square().sum(-1, keepdim=True).sqrt()

    classes = directions(directions(prompts).mean(-2))
    return (directions(images) @ classes.t()).div(temperature).log_softmax(1).exp()


@right("Classes in rows: the transposed matrix, softmax over its rows, transposed at the end")
def classes_in_rows(images, prompts, temperature):
    P = prompts.shape[1]
    classes = sum(F.normalize(prompts[:, p], dim=-1) for p in range(P)) / P
    scores = F.normalize(classes, dim=-1) @ F.normalize(images, dim=-1).T
    return scores.div(temperature).softmax(0).T


@right("Each probability is 1 over the sum of the powers of differences to the own score, by sigmoid of the rest")
def one_against_the_rest(images, prompts, temperature):
    a = F.normalize(images, dim=-1)
    c = F.normalize(F.normalize(prompts, dim=-1).mean(1), dim=-1)
    scores = F.linear(a, c) / temperature
    C = scores.shape[1]
    columns = []
    for k in range(C):
        rest = torch.cat([scores[:, :k], scores[:, k + 1 :]], dim=1)
        columns.append(torch.sigmoid(scores[:, k] - rest.logsumexp(1)) if C > 1 else torch.exp(scores[:, k] * 0))
    return torch.stack(columns, 1)


# ---------------------------------------------------------------- wrong: concepts


def _unit(x):
    return F.normalize(x, dim=-1)


# Right, and not registered: answers below are changes of it.
def _plain(images, prompts, temperature):
    return (_unit(images) @ _unit(_unit(prompts).mean(1)).T / temperature).softmax(-1)


change(_plain, "prompts_as_they_are", "the prompts' vectors are averaged as they are: long ones weigh more", "concept",
       ("_unit(prompts).mean(1)", "prompts.mean(1)"))


@wrong("the mean of the prompts is not divided by its length: classes of unlike prompts score less", kind="concept")
def class_as_it_is(images, prompts, temperature):
    return (_unit(images) @ _unit(prompts).mean(1).T / temperature).softmax(-1)


change(_plain, "images_as_they_are", "the pictures' vectors are not divided by their lengths", "concept",
       ("_unit(images)", "images"))
change(_plain, "times_temperature", "the scores are multiplied by the temperature, not divided", "concept",
       (".T / temperature", ".T * temperature"))
change(_plain, "no_temperature", "the temperature is not used", "concept",
       (".T / temperature", ".T"))
change(_plain, "softmax_over_pictures", "the softmax runs over the pictures, not over the classes", "concept",
       (".softmax(-1)", ".softmax(0)"))


@wrong("a softmax over the classes for each prompt, and the mean of these probabilities", kind="concept")
def mean_of_probabilities(images, prompts, temperature):
    scores = torch.einsum("nd,cpd->ncp", _unit(images), _unit(prompts)) / temperature
    return scores.softmax(1).mean(-1)


@wrong("one softmax over all C P prompts, summed for each class", kind="concept")
def softmax_over_all_prompts(images, prompts, temperature):
    scores = torch.einsum("nd,cpd->ncp", _unit(images), _unit(prompts)) / temperature
    return scores.flatten(1).softmax(-1).unflatten(1, prompts.shape[:2]).sum(-1)


@wrong("a class scores as its best prompt does", kind="concept")
def best_prompt(images, prompts, temperature):
    scores = torch.einsum("nd,cpd->ncp", _unit(images), _unit(prompts))
    return (scores.amax(-1) / temperature).softmax(-1)


change(_plain, "first_prompt", "only the first prompt of each class is used", "concept",
       ("_unit(prompts).mean(1)", "prompts[:, 0]"))
change(_plain, "median_of_prompts", "the median of the prompts in place of their mean", "concept",
       (".mean(1)", ".median(dim=1).values"))


@wrong("vectors are divided by the sum of their absolute entries, not by their length", kind="concept")
def sums_of_entries(images, prompts, temperature):
    classes = F.normalize(F.normalize(prompts, p=1, dim=-1).mean(1), p=1, dim=-1)
    return (F.normalize(images, p=1, dim=-1) @ classes.T / temperature).softmax(-1)


change(_plain, "squared_length", "the pictures are divided by the square of their length", "concept",
       before("return", "a = images / images.square().sum(-1, keepdim=True)"), ("_unit(images)", "a"))


@wrong("the scores are divided by the square root of D too", kind="concept")
def root_of_d(images, prompts, temperature):
    scores = _unit(images) @ _unit(_unit(prompts).mean(1)).T
    return (scores / images.shape[-1] ** 0.5 / temperature).softmax(-1)


@wrong("a sigmoid for each class: rows do not sum to 1", kind="concept")
def sigmoid_for_each_class(images, prompts, temperature):
    return torch.sigmoid(_unit(images) @ _unit(_unit(prompts).mean(1)).T / temperature)


@wrong("the scores come back without a softmax", kind="concept")
def scores_alone(images, prompts, temperature):
    return _unit(images) @ _unit(_unit(prompts).mean(1)).T / temperature


change(_plain, "logarithms", "logarithms of the probabilities come back", "concept",
       ("softmax(-1)", "log_softmax(-1)"))
change(_plain, "centred_images",
       "the pictures' mean is subtracted first, so that one picture depends on the others", "concept",
       before("return", "a = _unit(images - images.mean(0)) + 0 * _unit(images)"), ("_unit(images)", "a"))
change(_plain, "scale_at_most_100", "the scale 1/τ is held at 100 at most, as in CLIP's training", "concept",
       (".T / temperature", ".T * min(1 / temperature, 100.0)"))


@wrong("the temperature is taken for a logarithm: scores times exp(τ)", kind="concept")
def exponential_of_temperature(images, prompts, temperature):
    scale = torch.tensor(temperature, device=images.device).exp().to(images.dtype)
    return (scale * (_unit(images) @ _unit(_unit(prompts).mean(1)).T)).softmax(-1)


@wrong("the distance in place of the cosine, so that the farthest class is the most probable", kind="concept")
def sign_of_the_distance(images, prompts, temperature):
    return (-(_unit(images) @ _unit(_unit(prompts).mean(1)).T) / temperature).softmax(-1)


@wrong("1 for the best class and 0 for the others (plus 0 times the scores)", kind="concept")
def only_the_winner(images, prompts, temperature):
    scores = _unit(images) @ _unit(_unit(prompts).mean(1)).T / temperature
    return F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype) + 0 * scores


# ---------------------------------------------------------------- wrong: shapes and layouts


@wrong("the prompts are normalized over the axis of the prompts, not over that of the entries", kind="shape")
def normalized_over_prompts(images, prompts, temperature):
    return (_unit(images) @ _unit(F.normalize(prompts, dim=1).mean(1)).T / temperature).softmax(-1)


change(_plain, "mean_over_classes", "the mean runs over the classes and not over the prompts: [N, P]", "shape",
       (".mean(1)", ".mean(0)"))
change(_plain, "classes_mixed", "prompts are grouped as [P, C, D] by reshape, which mixes the classes", "shape",
       before("return", "C, P, D = prompts.shape"), (".mean(1)", ".reshape(P, C, D).mean(0)"))


@wrong("the result is [C, N]", kind="shape")
def classes_by_pictures(images, prompts, temperature):
    return (_unit(_unit(prompts).mean(1)) @ _unit(images).T / temperature).softmax(0)


change(_plain, "squeezed", "squeeze() at the end: the axis is lost for a single picture or a single class", "shape",
       (".softmax(-1)", ".softmax(-1).squeeze()"))


@wrong("view(C P, D) on the prompts fails for some memory layouts", kind="layout")
def by_view(images, prompts, temperature):
    C, P, D = prompts.shape
    classes = _unit(_unit(prompts.view(C * P, D)).view(C, P, D).mean(1))
    return (_unit(images) @ classes.T / temperature).softmax(-1)


@wrong("with one class the probability is a sigmoid of the score and not 1", kind="edge")
def one_class(images, prompts, temperature):
    scores = _unit(images) @ _unit(_unit(prompts).mean(1)).T / temperature
    return torch.sigmoid(scores) if scores.shape[1] == 1 else scores.softmax(-1)


# ---------------------------------------------------------------- wrong: numerics


@wrong("exp without the largest score subtracted: NaN for a small temperature", kind="numerics")
def bare_exponentials(images, prompts, temperature):
    powers = (_unit(images) @ _unit(_unit(prompts).mean(1)).T / temperature).exp()
    return powers / powers.sum(-1, keepdim=True)


@wrong("0.01 is added to each length, so that short vectors count less", kind="numerics")
def added_to_lengths(images, prompts, temperature):
    def unit(x):
        return x / (x.norm(dim=-1, keepdim=True) + 1e-2)

    return (unit(images) @ unit(unit(prompts).mean(1)).T / temperature).softmax(-1)


@wrong("probabilities are held at 1e-4 at least, so that rows sum to more than 1", kind="numerics")
def held_from_below(images, prompts, temperature):
    return (_unit(images) @ _unit(_unit(prompts).mean(1)).T / temperature).softmax(-1).clamp_min(1e-4)


@wrong("the products are computed in bfloat16", kind="numerics")
def half_the_digits(images, prompts, temperature):
    scores = _unit(images).bfloat16() @ _unit(_unit(prompts).mean(1)).bfloat16().T
    return (scores.to(images.dtype) / temperature).softmax(-1)


# ---------------------------------------------------------------- wrong: gradients


@wrong("the classes are made without gradients, so that none reaches the prompts", kind="gradient")
def prompts_cut(images, prompts, temperature):
    with torch.no_grad():
        classes = _unit(_unit(prompts).mean(1))
    return (_unit(images) @ classes.T / temperature).softmax(-1)


change(_plain, "images_cut", "the pictures are detached, as if their encoder were frozen", "gradient",
       ("_unit(images)", "_unit(images.detach())"))
change(added_to_lengths, "lengths_cut",
       "lengths are detached: the values are right, the gradients lack the part of the lengths", "gradient",
       ("(x.norm(dim=-1, keepdim=True) + 1e-2)", "x.detach().norm(dim=-1, keepdim=True)"))


# ---------------------------------------------------------------- wrong: interface, types


change(_plain, "images_overwritten", "the pictures are divided by their lengths in place", "interface",
       before("return", """
        with torch.no_grad():
            images /= images.norm(dim=-1, keepdim=True)"""))
change(_plain, "always_float32",
       "everything is turned into float32: float64 and bfloat16 do not come back", "interface",
       before("return", "images, prompts = images.float(), prompts.float()"))


@wrong("the classes are gathered in a tensor on the CPU, which fails on another device", kind="interface")
def classes_on_the_cpu(images, prompts, temperature):
    C, P, D = prompts.shape
    classes = torch.zeros(C, D, dtype=prompts.dtype)
    for p in range(P):
        classes = classes + _unit(prompts[:, p])
    return (_unit(images) @ _unit(classes).T / temperature).softmax(-1)


@wrong("the most probable class comes back beside the probabilities", kind="interface")
def with_the_winner(images, prompts, temperature):
    probabilities = (_unit(images) @ _unit(_unit(prompts).mean(1)).T / temperature).softmax(-1)
    return probabilities, probabilities.argmax(-1)
