"""Answers to sigmoid_loss (assignment 16)."""

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong

# ---------------------------------------------------------------- right


@right("Binary cross-entropy with the identity as labels, summed and divided by N")
def binary_cross_entropy(images, texts, temperature, bias):
    scores = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / temperature + bias
    labels = torch.eye(len(images), dtype=scores.dtype, device=scores.device)
    return F.binary_cross_entropy_with_logits(scores, labels, reduction="sum") / len(images)


@right("torch.where on the diagonal, and logaddexp with 0")
def by_logaddexp(images, texts, temperature, bias):
    a = images / images.norm(dim=1, keepdim=True)
    b = texts / texts.norm(dim=1, keepdim=True)
    scores = torch.einsum("id,jd->ij", a, b).div(temperature).add(bias)
    own = torch.eye(scores.shape[0], dtype=torch.bool, device=scores.device)
    signed = torch.where(own, scores, -scores)
    return torch.logaddexp(torch.zeros_like(signed), -signed).sum(1).mean()


@right("Texts are rolled along the pictures, N pairs at a time")
def rolled_texts(images, texts, temperature, bias):
    a, b = F.normalize(images, dim=-1), F.normalize(texts, dim=-1)
    terms = []
    for shift in range(len(images)):
        scores = (a * b.roll(shift, dims=0)).sum(-1) / temperature + bias
        terms.append(F.logsigmoid(scores if shift == 0 else -scores).mean())
    return -torch.stack(terms).sum()


@right("The logarithm of the sigmoid by hand: min(x, 0) - log1p(exp(-|x|))")
def by_hand(images, texts, temperature, bias):
    lengths = images.norm(dim=-1)[:, None] * texts.norm(dim=-1)[None, :]
    x = images @ texts.T / lengths / temperature + bias
    x = x * (2 * torch.eye(len(x), dtype=x.dtype, device=x.device) - 1)
    logs = torch.minimum(x, torch.zeros_like(x)) - torch.log1p(torch.exp(-x.abs()))
    return -logs.sum() / len(x)


@right("A logsumexp over each score and a 0, as a softmax over two")
def softmax_over_two(images, texts, temperature, bias):
    N = images.size(0)
    scores = torch.stack([F.normalize(texts, dim=1).mv(image / image.norm()) for image in images]) / temperature + bias
    both = torch.stack([torch.zeros_like(scores), scores], dim=-1).log_softmax(dim=-1)
    labels = torch.arange(N, device=images.device)
    labels = (labels[:, None] == labels[None]).long()
    return both.gather(-1, labels[..., None]).sum().neg() / N


@right("Diagonal and the rest apart, the rest cut out of the flat matrix")
def diagonal_and_rest(images, texts, temperature, bias):
    N = len(images)
    scores = F.linear(F.normalize(images, dim=-1), F.normalize(texts, dim=-1)) / temperature + bias
    own = torch.diagonal(scores)
    rest = scores.reshape(-1)[1:].reshape(N - 1, N + 1)[:, :-1] if N > 1 else scores[:0]
    return -(F.logsigmoid(own).sum() + F.logsigmoid(-rest).sum()) / N


class _Loss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, signed):
        ctx.save_for_backward(signed)
        return -F.logsigmoid(signed).sum() / len(signed)

    @staticmethod
    def backward(ctx, slope):
        (signed,) = ctx.saved_tensors
        return -slope * torch.sigmoid(-signed) / len(signed)


@right("A function of autograd for the last step, its gradient written down")
def own_gradient(images, texts, temperature, bias):
    cosines = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).mT
    signs = torch.full_like(cosines, -1).fill_diagonal_(1)
    return _Loss.apply(signs * (cosines / temperature + bias))


@right("Each pair on its own, in two Python loops")
def pair_by_pair(images, texts, temperature, bias):
    terms = []
    for i, image in enumerate(images):
        for j, text in enumerate(texts):
            score = torch.dot(image / image.norm(), text / text.norm()) / temperature + bias
            terms.append(F.logsigmoid(score if i == j else -score))
    return torch.stack(terms).sum() / -len(images)


# ---------------------------------------------------------------- wrong: concepts


def _cosines(images, texts):
    return F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T


def _signs(scores):
    return 2 * torch.eye(len(scores), dtype=scores.dtype, device=scores.device) - 1


# Right, and not registered: answers below are changes of it.
def _plain(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).sum() / len(scores)


change(_plain, "mean_over_pairs", "the mean over all N² pairs, not the sum divided by N", "concept",
       (".sum() / len(scores)", ".mean()"))
change(_plain, "sum_over_pairs", "the sum over all pairs, not divided by N", "concept",
       (".sum() / len(scores)", ".sum()"))
change(_plain, "dot_products", "dot products in place of cosines: lengths are not divided out", "concept",
       ("_cosines(images, texts)", "images @ texts.T"))
change(_plain, "only_texts_normalized", "only the texts are divided by their lengths", "concept",
       ("_cosines(images, texts)", "images @ F.normalize(texts, dim=-1).T"))
change(_plain, "times_temperature", "cosines are multiplied by the temperature, not divided", "concept",
       ("/ temperature", "* temperature"))
change(_plain, "exponential_of_temperature",
       "the temperature is taken for a logarithm: cosines times exp(τ), as SigLIP's t'", "concept",
       before("scores =", "scale = torch.tensor(temperature, device=images.device).exp().to(images.dtype)"),
       ("/ temperature", "* scale"))
change(_plain, "bias_divided", "the bias is divided by the temperature too", "concept",
       ("scores = _cosines(images, texts) / temperature + bias",
        "scores = (_cosines(images, texts) + bias) / temperature"))
change(_plain, "bias_subtracted", "the bias is subtracted", "concept",
       ("+ bias", "- bias"))
change(_plain, "no_bias", "the bias is not used", "concept",
       ("/ temperature + bias", "/ temperature"))
change(_plain, "bias_after_the_sign", "the bias is added after the sign: z cos / τ + bias", "concept",
       ("/ temperature + bias", "/ temperature"), ("_signs(scores) * scores", "_signs(scores) * scores + bias"))
change(_plain, "zeros_off_the_diagonal",
       "z is 0 off the diagonal and not -1, so that wrong pairs all count log 2", "concept",
       before("return", "z = torch.eye(len(scores), dtype=scores.dtype, device=scores.device)"),
       ("_signs(scores)", "z"))
change(_plain, "signs_swapped", "signs are swapped: right pairs count as wrong ones", "concept",
       ("_signs(scores) * scores", "-_signs(scores) * scores"))
change(_plain, "all_belong_together", "all signs are +1: every pair is asked to belong together", "concept",
       ("_signs(scores) * scores", "scores"))
change(_plain, "right_pairs_only", "only the right pairs on the diagonal count", "concept",
       (".logsigmoid(_signs(scores) * scores).sum() / len(scores)", ".logsigmoid(scores.diagonal()).mean()"))
change(_plain, "wrong_pairs_only", "only the wrong pairs off the diagonal count", "concept",
       before("return", "own = torch.eye(len(scores), dtype=torch.bool, device=scores.device)"),
       (".logsigmoid(_signs(scores) * scores).sum()", ".logsigmoid(-scores).masked_fill(own, 0).sum()"))


@wrong("the wrong pairs count as the mean over N - 1, to balance them with the right ones", kind="concept")
def balanced(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    logs = F.logsigmoid(_signs(scores) * scores)
    own = logs.diagonal().sum()
    return -(own + (logs.sum() - own) / max(len(scores) - 1, 1)) / len(scores)


@wrong("for each picture only the hardest wrong text counts beside the right one", kind="concept")
def hardest_only(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    logs = F.logsigmoid(_signs(scores) * scores)
    own = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    return -(logs.diagonal() + logs.masked_fill(own, 0).amin(1)).mean()


change(_plain, "no_minus", "the minus in front is missing: the better the pairs, the larger the number", "concept",
       ("return -F.logsigmoid", "return F.logsigmoid"))
change(_plain, "no_logarithm", "the sigmoids themselves are summed, without the logarithm", "concept",
       ("F.logsigmoid", "torch.sigmoid"))
change(_plain, "hinge", "a hinge, max(0, 1 - z score), in place of the logarithm of the sigmoid", "concept",
       ("return -F.logsigmoid(_signs(scores) * scores).sum", "return F.relu(1 - _signs(scores) * scores).sum"))


@wrong("CLIP's loss: a softmax over the texts and one over the pictures", kind="concept")
def softmax_loss(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    own = torch.arange(len(scores), device=scores.device)
    return (F.cross_entropy(scores, own) + F.cross_entropy(scores.T, own)) / 2


@wrong("pictures to texts and texts to pictures are added: every pair counts twice", kind="concept")
def both_directions(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    one = -F.logsigmoid(_signs(scores) * scores).sum(1).mean()
    other = -F.logsigmoid(_signs(scores) * scores.T).sum(1).mean()
    return one + other


change(_plain, "upper_triangle", "each unordered pair counts once: only the upper triangle is summed", "concept",
       (".sum()", ".triu().sum()"))
change(_plain, "pictures_with_pictures", "pictures are compared with pictures (the texts add 0)", "concept",
       ("_cosines(images, texts) / temperature + bias",
        "_cosines(images, images) / temperature + bias + 0 * texts.sum()"))


# ---------------------------------------------------------------- wrong: shapes and layouts


change(_plain, "normalized_over_the_batch",
       "vectors are normalized over the batch (dim 0), not over their entries", "shape",
       ("_cosines(images, texts)", "F.normalize(images, dim=0) @ F.normalize(texts, dim=0).T"))
change(_plain, "divided_by_d", "the sum is divided by the number of entries D, not by N", "shape",
       ("len(scores)", "images.shape[1]"))
change(_plain, "one_for_each_picture", "one loss for each picture comes back, [N], not their mean", "shape",
       (".sum() / len(scores)", ".sum(1)"))
change(_plain, "one_entry", "the loss has the shape [1]", "shape",
       (".sum()", ".sum().reshape(1)"))


@wrong("the texts are turned by reshape(D, N), which mixes their entries", kind="layout")
def reshaped(images, texts, temperature, bias):
    N, D = texts.shape
    scores = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).reshape(D, N) / temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).sum() / N


@wrong("view(-1) on the pictures fails for some memory layouts", kind="layout")
def by_view(images, texts, temperature, bias):
    N, D = images.shape
    repeated = images.view(-1).repeat(N).view(N, N, D).transpose(0, 1)
    scores = (F.normalize(repeated, dim=-1) * F.normalize(texts, dim=-1)).sum(-1) / temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).sum() / N


change(_plain, "one_pair_is_nothing",
       "a batch of one pair counts 0, as if without wrong pairs there were no question", "edge",
       before("scores =", """
        if len(images) == 1:
            return 0 * (images.sum() + texts.sum())"""))


# ---------------------------------------------------------------- wrong: numerics


change(_plain, "log_of_sigmoid",
       "the logarithm of a sigmoid that has become 0: infinite for a bias of -200", "numerics",
       ("F.logsigmoid(_signs(scores) * scores).sum()", "torch.log(torch.sigmoid(_signs(scores) * scores)).sum()"))


@wrong("1e-8 is added under the logarithm: a pair counts 18.4 at most", kind="numerics")
def added_under_the_logarithm(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    return -torch.log(torch.sigmoid(_signs(scores) * scores) + 1e-8).sum() / len(scores)


@wrong("binary_cross_entropy on the sigmoids holds each logarithm at -100", kind="numerics")
def held_logarithms(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    labels = torch.eye(len(scores), dtype=scores.dtype, device=scores.device)
    return F.binary_cross_entropy(torch.sigmoid(scores), labels, reduction="sum") / len(scores)


change(_plain, "held_scores", "scores are held between -50 and 50", "numerics",
       ("scores = _cosines(images, texts) / temperature + bias",
        "scores = (_cosines(images, texts) / temperature + bias).clamp(-50, 50)"))
change(_plain, "bare_exponential", "log(1 + exp(-x)) overflows in float32 for a bias of -200", "numerics",
       ("return -F.logsigmoid(_signs(scores) * scores).sum",
        "return torch.log(1 + torch.exp(-_signs(scores) * scores)).sum"))
change(_plain, "difference_of_infinities",
       "x - log(1 + exp(x)) is inf - inf in float32 for pairs that are clearly right", "numerics",
       before("return", "x = _signs(scores) * scores"),
       ("F.logsigmoid(_signs(scores) * scores).sum()", "(x - torch.log(1 + torch.exp(x))).sum()"))


@wrong("wrong pairs count log(1 - sigmoid), infinite where their score is large", kind="numerics")
def one_minus_sigmoid(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    own = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    return -torch.where(own, F.logsigmoid(scores), torch.log(1 - torch.sigmoid(scores))).sum() / len(scores)


@wrong("0.01 is added to each length, so that short vectors count less", kind="numerics")
def added_to_lengths(images, texts, temperature, bias):
    a = images / (images.norm(dim=-1, keepdim=True) + 1e-2)
    b = texts / (texts.norm(dim=-1, keepdim=True) + 1e-2)
    scores = a @ b.T / temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).sum() / len(scores)


# ---------------------------------------------------------------- wrong: gradients


change(_plain, "texts_cut", "the texts are detached: no gradient reaches them", "gradient",
       ("_cosines(images, texts)", "_cosines(images, texts.detach())"))


@wrong("lengths are detached: the loss is right, the gradients lack the part of the lengths", kind="gradient")
def lengths_cut(images, texts, temperature, bias):
    a = images / images.detach().norm(dim=-1, keepdim=True)
    b = texts / texts.detach().norm(dim=-1, keepdim=True)
    scores = a @ b.T / temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).sum() / len(scores)


@wrong("wrong pairs are detached: the loss is right, but only right pairs have gradients", kind="gradient")
def wrong_pairs_cut(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    own = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    return -F.logsigmoid(torch.where(own, scores, -scores.detach())).sum() / len(scores)


# ---------------------------------------------------------------- wrong: interface, types


change(_plain, "a_number", "a Python number comes back, not a tensor", "interface",
       (".sum()", ".sum().item()"))
change(_plain, "inputs_overwritten", "both inputs are divided by their lengths in place", "interface",
       before("scores =", """
        with torch.no_grad():
            images /= images.norm(dim=-1, keepdim=True)
            texts /= texts.norm(dim=-1, keepdim=True)"""))
change(_plain, "always_float32", "everything is turned into float32, so that float64 is lost", "interface",
       ("_cosines(images, texts)", "_cosines(images.float(), texts.float())"))
change(_plain, "signs_on_the_cpu", "the signs are made on the CPU, which fails on another device", "interface",
       ("_signs(scores)", "(2 * torch.eye(len(scores), dtype=scores.dtype) - 1)"))
