"""Answers to contrastive_loss (assignment 16)."""

import math

import torch
import torch.nn.functional as F
from answers import before, change, right, wrong

# ---------------------------------------------------------------- right


@right("log-sum-exp of rows and columns minus the diagonal")
def by_logsumexp(images, texts, temperature):
    S = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).mT / temperature
    return ((S.logsumexp(0) + S.logsumexp(1)) / 2 - S.diagonal()).mean()


@right("cosine_similarity by broadcasting, log_softmax, and a trace for each direction")
def by_broadcasting(images, texts, temperature):
    S = F.cosine_similarity(images[:, None], texts[None], dim=-1) / temperature
    return -(torch.trace(S.log_softmax(1)) + torch.trace(S.log_softmax(0))) / (2 * len(S))


@right("both directions stacked to 2N questions, answered by one cross_entropy")
def stacked(images, texts, temperature):
    a = images / images.norm(dim=1, keepdim=True)
    b = texts / texts.norm(dim=1, keepdim=True)
    S = torch.einsum("id,jd->ij", a, b) / temperature
    places = torch.arange(S.shape[0], device=S.device).repeat(2)
    return F.cross_entropy(torch.cat([S, S.T]), places)


@right("Pair by pair, in a Python loop over the vectors")
def pair_by_pair(images, texts, temperature):
    N, total = images.shape[0], 0
    a = [v / torch.linalg.vector_norm(v) for v in images]
    b = [v / torch.linalg.vector_norm(v) for v in texts]
    for n in range(N):
        own = (a[n] * b[n]).sum()
        asked = torch.stack([(a[n] * v).sum() - own for v in b]) / temperature
        answered = torch.stack([(v * b[n]).sum() - own for v in a]) / temperature
        total = total + asked.logsumexp(0) + answered.logsumexp(0)
    return total / (2 * N)


@right("Products first, divided by the lengths' outer product afterwards; the diagonal subtracted before logsumexp")
def lengths_afterwards(images, texts, temperature):
    lengths = torch.outer(images.square().sum(-1).sqrt(), texts.square().sum(-1).sqrt())
    S = images @ texts.T / lengths / temperature
    own = S.diag()
    rows, columns = S - own.unsqueeze(1), S - own.unsqueeze(0)
    return torch.cat([torch.logsumexp(rows, 1), torch.logsumexp(columns, 0)]).mean()


@right("One-hot targets as probabilities (identity matrix), in float32 for bfloat16")
def identity_as_target(images, texts, temperature):
    if images.dtype in (torch.bfloat16, torch.float16):
        images, texts = images.float(), texts.float()
    a, b = (x * x.pow(2).sum(-1, keepdim=True).rsqrt() for x in (images, texts))
    S = a.matmul(b.t()).div(temperature)
    target = torch.eye(S.shape[0], dtype=S.dtype, device=S.device)
    return torch.lerp(F.cross_entropy(S, target), F.cross_entropy(S.t(), target), 0.5)


class _Loss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, S):
        rows, columns = S.log_softmax(1), S.log_softmax(0)
        ctx.save_for_backward(rows, columns)
        return -(rows + columns).diagonal().mean() / 2

    @staticmethod
    def backward(ctx, slope):
        rows, columns = ctx.saved_tensors
        eye = torch.eye(len(rows), dtype=rows.dtype, device=rows.device)
        return slope * ((rows.exp() + columns.exp()) / 2 - eye) / len(rows)


@right("A function of autograd on S, its gradient written down")
def own_gradient(images, texts, temperature):
    return _Loss.apply(F.normalize(images) @ F.normalize(texts).T / temperature)


@right("The softmax by hand (largest score subtracted), its logarithm from score and sum, gather for the own places")
def softmax_by_hand(images, texts, temperature):
    S = F.normalize(images, dim=1) @ F.normalize(texts, dim=1).T / temperature
    own = torch.arange(len(S), device=S.device)[:, None]
    losses = []
    for scores in (S, S.T):
        scores = scores - scores.amax(1, keepdim=True).detach()
        losses.append(scores.exp().sum(1).log() - scores.gather(1, own).squeeze(1))
    return torch.stack(losses).mean()


@right("logaddexp, one candidate after the other")
def candidate_after_candidate(images, texts, temperature):
    a, b = F.normalize(images, dim=-1), F.normalize(texts, dim=-1)
    own = (a * b).sum(-1) / temperature
    rows, columns = own, own
    for shift in range(1, len(a)):
        rows = torch.logaddexp(rows, (a * b.roll(shift, 0)).sum(-1) / temperature)
        columns = torch.logaddexp(columns, (a.roll(shift, 0) * b).sum(-1) / temperature)
    return (0.5 * rows + 0.5 * columns - own).mean()


# Right, and not registered: answers below are changes of it.
def _plain(images, texts, temperature):
    S = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / temperature
    own = torch.arange(len(S), device=S.device)
    return (F.cross_entropy(S, own) + F.cross_entropy(S.T, own)) / 2


# ---------------------------------------------------------------- wrong: concepts


change(_plain, "not_normalized",
       "the vectors are not divided by their lengths: plain products in place of cosines", "concept",
       ("F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T", "images @ texts.T"))
change(_plain, "pictures_normalized_only", "only the pictures' vectors are divided by their lengths", "concept",
       ("F.normalize(texts, dim=-1).T", "texts.T"))


@wrong("only the pictures ask (rows); the texts' half is missing", kind="concept")
def pictures_only(images, texts, temperature):
    S = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / temperature
    return F.cross_entropy(S, torch.arange(len(S), device=S.device))


@wrong("only the texts ask (columns), the pictures' half is missing", kind="concept")
def texts_only(images, texts, temperature):
    S = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / temperature
    return -S.log_softmax(0).diagonal().mean()


change(_plain, "without_half", "both halves are added without the factor ½", "concept",
       ("return (F.cross_entropy(S, own) + F.cross_entropy(S.T, own)) / 2",
        "return F.cross_entropy(S, own) + F.cross_entropy(S.T, own)"))
change(_plain, "summed", "the pairs' losses are summed, not averaged", "concept",
       ("S, own", 'S, own, reduction="sum"'), ("S.T, own", 'S.T, own, reduction="sum"'))
change(_plain, "times_temperature", "cosines are multiplied by the temperature, not divided by it", "concept",
       (".T / temperature", ".T * temperature"))
change(_plain, "no_temperature", "the temperature is not used", "concept",
       (".T / temperature", ".T"))
change(_plain, "exponential_of_temperature",
       "the temperature is taken for CLIP's learnt logarithm of a factor: S is multiplied by e^τ", "concept",
       ("F.normalize(images, dim=-1)", "math.exp(temperature) * F.normalize(images, dim=-1)"),
       (".T / temperature", ".T"))
change(_plain, "factor_capped",
       "the factor 1/τ is capped at 100 as in CLIP, so that temperatures below 0.01 act as 0.01", "edge",
       (".T / temperature", ".T * min(1 / temperature, 100.0)"))


@wrong("the sign is missing: mean log-probability, negative", kind="concept")
def sign_missing(images, texts, temperature):
    S = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / temperature
    return (S.log_softmax(0).diagonal().mean() + S.log_softmax(1).diagonal().mean()) / 2


change(by_logsumexp, "over_all_pairs",
       "one softmax over all N² pairs in place of one for each row and column", "concept",
       (".mT", ".T"), ("(S.logsumexp(0) + S.logsumexp(1)) / 2", "torch.logsumexp(S.flatten(), 0)"))


@wrong("the own partner is left out of the sum below the fraction (only the wrong ones are summed)", kind="concept")
def own_left_out(images, texts, temperature):
    S = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / temperature
    others = S.masked_fill(torch.eye(len(S), dtype=torch.bool, device=S.device), torch.finfo(S.dtype).min)
    return ((others.logsumexp(0) + others.logsumexp(1)) / 2 - S.diagonal()).mean()


@wrong("SimCLR: pictures also stand among a picture's candidates, texts among a text's", kind="concept")
def simclr(images, texts, temperature):
    N = len(images)
    v = torch.cat([F.normalize(images, dim=-1), F.normalize(texts, dim=-1)])
    S = (v @ v.T / temperature).masked_fill(torch.eye(2 * N, dtype=torch.bool, device=v.device), -math.inf)
    return F.cross_entropy(S, torch.arange(2 * N, device=v.device).roll(N))


@wrong("S is made symmetric, (S + Sᵀ)/2, before the softmax, in place of averaging the two losses", kind="concept")
def scores_made_symmetric(images, texts, temperature):
    S = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / temperature
    return F.cross_entropy((S + S.T) / 2, torch.arange(len(S), device=S.device))


@wrong("the two directions' probabilities are averaged before the logarithm is taken", kind="concept")
def probabilities_averaged(images, texts, temperature):
    S = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / temperature
    both = torch.stack([S.log_softmax(0).diagonal(), S.log_softmax(1).diagonal()])
    return -(both.logsumexp(0) - math.log(2)).mean()


@wrong("all entries of −log softmax are averaged, not the diagonal alone", kind="concept")
def all_entries(images, texts, temperature):
    S = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / temperature
    return -(S.log_softmax(0).mean() + S.log_softmax(1).mean()) / 2


change(_plain, "own_at_zero", "every question's own partner is looked for at place 0", "concept",
       (".arange(len(S), device=S.device)", ".zeros(len(S), dtype=torch.long, device=S.device)"))
change(_plain, "softmax_twice", "cross_entropy receives probabilities: the softmax is taken twice", "concept",
       ("S, own", "S.softmax(1), own"), ("S.T", "S.T.softmax(1)"))
change(_plain, "also_by_the_root", "scores are divided by √D as well", "concept",
       (".T / temperature", ".T / temperature / math.sqrt(images.shape[1])"))
change(_plain, "smoothed", "labels are smoothed by 0.1", "concept",
       ("return (F.cross_entropy(S, own) + F.cross_entropy(S.T, own)) / 2", """
        halves = [F.cross_entropy(x, own, label_smoothing=0.1) for x in (S, S.T)]
        return sum(halves) / 2"""))


@wrong(
    "candidates that equal the own one (same text twice) are masked out, though the text asks for all N", kind="concept"
)
def twins_masked(images, texts, temperature):
    a, b = F.normalize(images, dim=-1), F.normalize(texts, dim=-1)
    twins = (texts[:, None] == texts[None]).all(-1)
    twins.fill_diagonal_(False)
    S = (a @ b.T / temperature).masked_fill(twins, -math.inf)
    own = torch.arange(len(S), device=S.device)
    return (F.cross_entropy(S, own) + F.cross_entropy(S.T, own)) / 2


@wrong("SigLIP's loss: each pair a question of its own, no softmax", kind="concept")
def by_sigmoid(images, texts, temperature):
    S = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / temperature
    z = 2 * torch.eye(len(S), dtype=S.dtype, device=S.device) - 1
    return -F.logsigmoid(z * S).sum() / len(S)


@wrong("a hinge on the hardest wrong partner, not a softmax", kind="concept")
def hinge(images, texts, temperature):
    S = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / temperature
    wrong_ones = S.masked_fill(torch.eye(len(S), dtype=torch.bool, device=S.device), -1 / temperature)
    own = S.diagonal()
    return ((1 + wrong_ones.amax(1) - own).relu().mean() + (1 + wrong_ones.amax(0) - own).relu().mean()) / 2


# ---------------------------------------------------------------- wrong: axes and shapes


change(_plain, "lengths_over_the_batch", "lengths are taken over the batch (dim 0), not over the features", "shape",
       ("images, dim=-1", "images, dim=0"), ("texts, dim=-1", "texts, dim=0"))
change(_plain, "length_of_the_matrix",
       "norm() without dim: all vectors are divided by the length of the whole matrix", "shape",
       ("F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T",
        "(images / images.norm()) @ (texts / texts.norm()).T"))


@wrong("the losses of the N pairs come back, without their mean", kind="shape")
def not_averaged(images, texts, temperature):
    S = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / temperature
    return (S.logsumexp(0) + S.logsumexp(1)) / 2 - S.diagonal()


@wrong("squeeze() on S: with N = 1 no row is left, and the log-softmax over dim 1 fails", kind="edge")
def squeezed(images, texts, temperature):
    S = (F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / temperature).squeeze()
    return -(S.log_softmax(1).diagonal() + S.log_softmax(0).diagonal()).mean() / 2


@wrong("view(-1) on the inputs fails for a transposed layout", kind="layout")
def by_view(images, texts, temperature):
    N, D = images.shape
    a = F.normalize(images.view(-1).view(N, D), dim=-1)
    b = F.normalize(texts.view(-1).view(N, D), dim=-1)
    S = a @ b.T / temperature
    own = torch.arange(N, device=S.device)
    return (F.cross_entropy(S, own) + F.cross_entropy(S.T, own)) / 2


# ---------------------------------------------------------------- wrong: numerics


change(_plain, "squared_lengths", "vectors are divided by their squared lengths", "concept",
       ("S = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / temperature", """
        a = images / images.square().sum(-1, keepdim=True)
        b = texts / texts.square().sum(-1, keepdim=True)
        S = a @ b.T / temperature"""))
change(_plain, "by_absolute_sums",
       "vectors are divided by the sum of their absolute entries (L1), not by their lengths", "concept",
       ("images, dim", "images, p=1, dim"), ("texts, dim", "texts, p=1, dim"))


@wrong("softmax, then the logarithm: at a low temperature a probability is 0 and the loss infinite", kind="numerics")
def log_of_softmax(images, texts, temperature):
    S = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / temperature
    return -(S.softmax(1).diagonal().log().mean() + S.softmax(0).diagonal().log().mean()) / 2


@wrong("exponentials without subtracting the largest: they overflow at a low temperature", kind="numerics")
def plain_exponentials(images, texts, temperature):
    S = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / temperature
    powers = S.exp()
    return ((powers.sum(0).log() + powers.sum(1).log()) / 2 - S.diagonal()).mean()


@wrong("1e-8 is added to the probabilities before the logarithm: large losses are cut at 18.4", kind="numerics")
def epsilon_in_the_logarithm(images, texts, temperature):
    S = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / temperature
    rows, columns = S.softmax(1).diagonal(), S.softmax(0).diagonal()
    return -((rows + 1e-8).log() + (columns + 1e-8).log()).mean() / 2


@wrong("0.01 is added to the lengths, so that short vectors get smaller cosines", kind="numerics")
def epsilon_in_the_length(images, texts, temperature):
    a = images / (images.norm(dim=-1, keepdim=True) + 1e-2)
    b = texts / (texts.norm(dim=-1, keepdim=True) + 1e-2)
    S = a @ b.T / temperature
    own = torch.arange(len(S), device=S.device)
    return (F.cross_entropy(S, own) + F.cross_entropy(S.T, own)) / 2


change(_plain, "lengths_at_least_one", "lengths below 1 are raised to 1: such vectors stay as they are", "numerics",
       ("images, dim=-1", "images, dim=-1, eps=1.0"), ("texts, dim=-1", "texts, dim=-1, eps=1.0"))


@wrong("cosines are computed in bfloat16 (as under autocast), whatever the inputs' type", kind="numerics")
def cosines_in_bfloat16(images, texts, temperature):
    a, b = F.normalize(images, dim=-1).bfloat16(), F.normalize(texts, dim=-1).bfloat16()
    S = (a @ b.T).to(images.dtype) / temperature
    own = torch.arange(len(S), device=S.device)
    return (F.cross_entropy(S, own) + F.cross_entropy(S.T, own)) / 2


change(_plain, "always_float", "everything is computed in float32, so float64 comes back as float32", "interface",
       ("images, dim", "images.float(), dim"), ("texts, dim", "texts.float(), dim"))


# ---------------------------------------------------------------- wrong: gradients


change(_plain, "texts_detached", "the texts' vectors are detached: only the pictures learn", "gradient",
       ("texts, dim", "texts.detach(), dim"))


@wrong("the lengths are detached: the loss is right, its gradient lacks their part", kind="gradient")
def lengths_detached(images, texts, temperature):
    a = images / images.norm(dim=-1, keepdim=True).detach()
    b = texts / texts.norm(dim=-1, keepdim=True).detach()
    S = a @ b.T / temperature
    own = torch.arange(len(S), device=S.device)
    return (F.cross_entropy(S, own) + F.cross_entropy(S.T, own)) / 2


@wrong(
    "each side asks against detached candidates: the loss is right, half of the gradient is missing", kind="gradient"
)
def candidates_detached(images, texts, temperature):
    a, b = F.normalize(images, dim=-1), F.normalize(texts, dim=-1)
    own = torch.arange(len(a), device=a.device)
    asked = F.cross_entropy(a @ b.detach().T / temperature, own)
    return (asked + F.cross_entropy(b @ a.detach().T / temperature, own)) / 2


@wrong("the loss is rebuilt as a new tensor, so that gradients end there", kind="gradient")
def rebuilt(images, texts, temperature):
    S = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T / temperature
    own = torch.arange(len(S), device=S.device)
    loss = (F.cross_entropy(S, own) + F.cross_entropy(S.T, own)) / 2
    return torch.tensor(loss.item(), dtype=loss.dtype, device=loss.device)


change(by_logsumexp, "diagonal_detached", "the diagonal is detached: the gradient only pushes pairs apart", "gradient",
       (".mT", ".T"), ("S.diagonal()", "S.diagonal().detach()"))


# ---------------------------------------------------------------- wrong: interface


change(_plain, "in_place", "the inputs are divided by their lengths in place", "interface",
       before("S =", """
        with torch.no_grad():
            images.div_(images.norm(dim=-1, keepdim=True))
            texts.div_(texts.norm(dim=-1, keepdim=True))"""))
change(_plain, "places_on_the_cpu",
       "the own places stand on the CPU, which fails with inputs on another device", "interface",
       ("len(S), device=S.device", "len(S)"))
change(_plain, "a_number", "a Python number comes back, not a tensor", "interface",
       ("return (F.cross_entropy(S, own) + F.cross_entropy(S.T, own)) / 2",
        "return ((F.cross_entropy(S, own) + F.cross_entropy(S.T, own)) / 2).item()"))
change(_plain, "two_losses", "both halves come back as a pair, not their mean", "interface",
       ("return (F.cross_entropy(S, own) + F.cross_entropy(S.T, own)) / 2",
        "return F.cross_entropy(S, own), F.cross_entropy(S.T, own)"))
