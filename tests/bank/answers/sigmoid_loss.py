"""Answers to sigmoid_loss (assignment 16)."""

import torch
import torch.nn.functional as F
from answers import right, wrong

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


@wrong("the mean over all N² pairs, not the sum divided by N", kind="concept")
def mean_over_pairs(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).mean()


@wrong("the sum over all pairs, not divided by N", kind="concept")
def sum_over_pairs(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).sum()


@wrong("dot products in place of cosines: lengths are not divided out", kind="concept")
def dot_products(images, texts, temperature, bias):
    scores = images @ texts.T / temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).sum() / len(scores)


@wrong("only the texts are divided by their lengths", kind="concept")
def only_texts_normalized(images, texts, temperature, bias):
    scores = images @ F.normalize(texts, dim=-1).T / temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).sum() / len(scores)


@wrong("cosines are multiplied by the temperature, not divided", kind="concept")
def times_temperature(images, texts, temperature, bias):
    scores = _cosines(images, texts) * temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).sum() / len(scores)


@wrong("the temperature is taken for a logarithm: cosines times exp(τ), as SigLIP's t'", kind="concept")
def exponential_of_temperature(images, texts, temperature, bias):
    scale = torch.tensor(temperature, device=images.device).exp().to(images.dtype)
    scores = _cosines(images, texts) * scale + bias
    return -F.logsigmoid(_signs(scores) * scores).sum() / len(scores)


@wrong("the bias is divided by the temperature too", kind="concept")
def bias_divided(images, texts, temperature, bias):
    scores = (_cosines(images, texts) + bias) / temperature
    return -F.logsigmoid(_signs(scores) * scores).sum() / len(scores)


@wrong("the bias is subtracted", kind="concept")
def bias_subtracted(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature - bias
    return -F.logsigmoid(_signs(scores) * scores).sum() / len(scores)


@wrong("the bias is not used", kind="concept")
def no_bias(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature
    return -F.logsigmoid(_signs(scores) * scores).sum() / len(scores)


@wrong("the bias is added after the sign: z cos / τ + bias", kind="concept")
def bias_after_the_sign(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature
    return -F.logsigmoid(_signs(scores) * scores + bias).sum() / len(scores)


@wrong("z is 0 off the diagonal and not -1, so that wrong pairs all count log 2", kind="concept")
def zeros_off_the_diagonal(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    z = torch.eye(len(scores), dtype=scores.dtype, device=scores.device)
    return -F.logsigmoid(z * scores).sum() / len(scores)


@wrong("signs are swapped: right pairs count as wrong ones", kind="concept")
def signs_swapped(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    return -F.logsigmoid(-_signs(scores) * scores).sum() / len(scores)


@wrong("all signs are +1: every pair is asked to belong together", kind="concept")
def all_belong_together(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    return -F.logsigmoid(scores).sum() / len(scores)


@wrong("only the right pairs on the diagonal count", kind="concept")
def right_pairs_only(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    return -F.logsigmoid(scores.diagonal()).mean()


@wrong("only the wrong pairs off the diagonal count", kind="concept")
def wrong_pairs_only(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    own = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    return -F.logsigmoid(-scores).masked_fill(own, 0).sum() / len(scores)


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


@wrong("the minus in front is missing: the better the pairs, the larger the number", kind="concept")
def no_minus(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    return F.logsigmoid(_signs(scores) * scores).sum() / len(scores)


@wrong("the sigmoids themselves are summed, without the logarithm", kind="concept")
def no_logarithm(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    return -torch.sigmoid(_signs(scores) * scores).sum() / len(scores)


@wrong("a hinge, max(0, 1 - z score), in place of the logarithm of the sigmoid", kind="concept")
def hinge(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    return F.relu(1 - _signs(scores) * scores).sum() / len(scores)


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


@wrong("each unordered pair counts once: only the upper triangle is summed", kind="concept")
def upper_triangle(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).triu().sum() / len(scores)


@wrong("pictures are compared with pictures (the texts add 0)", kind="concept")
def pictures_with_pictures(images, texts, temperature, bias):
    scores = _cosines(images, images) / temperature + bias + 0 * texts.sum()
    return -F.logsigmoid(_signs(scores) * scores).sum() / len(scores)


# ---------------------------------------------------------------- wrong: shapes and layouts


@wrong("vectors are normalized over the batch (dim 0), not over their entries", kind="shape")
def normalized_over_the_batch(images, texts, temperature, bias):
    scores = F.normalize(images, dim=0) @ F.normalize(texts, dim=0).T / temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).sum() / len(scores)


@wrong("the sum is divided by the number of entries D, not by N", kind="shape")
def divided_by_d(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).sum() / images.shape[1]


@wrong("one loss for each picture comes back, [N], not their mean", kind="shape")
def one_for_each_picture(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).sum(1)


@wrong("the loss has the shape [1]", kind="shape")
def one_entry(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).sum().reshape(1) / len(scores)


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


@wrong("a batch of one pair counts 0, as if without wrong pairs there were no question", kind="edge")
def one_pair_is_nothing(images, texts, temperature, bias):
    if len(images) == 1:
        return 0 * (images.sum() + texts.sum())
    scores = _cosines(images, texts) / temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).sum() / len(scores)


# ---------------------------------------------------------------- wrong: numerics


@wrong("the logarithm of a sigmoid that has become 0: infinite for a bias of -200", kind="numerics")
def log_of_sigmoid(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    return -torch.log(torch.sigmoid(_signs(scores) * scores)).sum() / len(scores)


@wrong("1e-8 is added under the logarithm: a pair counts 18.4 at most", kind="numerics")
def added_under_the_logarithm(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    return -torch.log(torch.sigmoid(_signs(scores) * scores) + 1e-8).sum() / len(scores)


@wrong("binary_cross_entropy on the sigmoids holds each logarithm at -100", kind="numerics")
def held_logarithms(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    labels = torch.eye(len(scores), dtype=scores.dtype, device=scores.device)
    return F.binary_cross_entropy(torch.sigmoid(scores), labels, reduction="sum") / len(scores)


@wrong("scores are held between -50 and 50", kind="numerics")
def held_scores(images, texts, temperature, bias):
    scores = (_cosines(images, texts) / temperature + bias).clamp(-50, 50)
    return -F.logsigmoid(_signs(scores) * scores).sum() / len(scores)


@wrong("log(1 + exp(-x)) overflows in float32 for a bias of -200", kind="numerics")
def bare_exponential(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    return torch.log(1 + torch.exp(-_signs(scores) * scores)).sum() / len(scores)


@wrong("x - log(1 + exp(x)) is inf - inf in float32 for pairs that are clearly right", kind="numerics")
def difference_of_infinities(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    x = _signs(scores) * scores
    return -(x - torch.log(1 + torch.exp(x))).sum() / len(scores)


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


@wrong("the texts are detached: no gradient reaches them", kind="gradient")
def texts_cut(images, texts, temperature, bias):
    scores = _cosines(images, texts.detach()) / temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).sum() / len(scores)


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


@wrong("a Python number comes back, not a tensor", kind="interface")
def a_number(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).sum().item() / len(scores)


@wrong("both inputs are divided by their lengths in place", kind="interface")
def inputs_overwritten(images, texts, temperature, bias):
    with torch.no_grad():
        images /= images.norm(dim=-1, keepdim=True)
        texts /= texts.norm(dim=-1, keepdim=True)
    scores = _cosines(images, texts) / temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).sum() / len(scores)


@wrong("everything is turned into float32, so that float64 is lost", kind="interface")
def always_float32(images, texts, temperature, bias):
    scores = _cosines(images.float(), texts.float()) / temperature + bias
    return -F.logsigmoid(_signs(scores) * scores).sum() / len(scores)


@wrong("the signs are made on the CPU, which fails on another device", kind="interface")
def signs_on_the_cpu(images, texts, temperature, bias):
    scores = _cosines(images, texts) / temperature + bias
    return -F.logsigmoid((2 * torch.eye(len(scores), dtype=scores.dtype) - 1) * scores).sum() / len(scores)
