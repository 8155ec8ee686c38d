"""Answers to momentum_contrastive_loss (assignment 16)."""

import math

import torch
import torch.nn.functional as F
from answers import after, before, change, right, wrong

# ---------------------------------------------------------------- right


@right("cross_entropy with probabilities as targets, once for each side")
def by_cross_entropy(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    with torch.no_grad():
        all_texts = torch.cat([momentum_texts, text_queue])
        all_images = torch.cat([momentum_images, image_queue])
        own = torch.eye(len(images), len(all_texts), dtype=images.dtype, device=images.device)
        for_images = alpha * (momentum_images @ all_texts.T / temperature).softmax(1) + (1 - alpha) * own
        for_texts = alpha * (momentum_texts @ all_images.T / temperature).softmax(1) + (1 - alpha) * own
    pictures = F.cross_entropy(images @ all_texts.T / temperature, for_images)
    captions = F.cross_entropy(texts @ all_images.T / temperature, for_texts)
    return (pictures + captions) / 2


@right("Two parts: α times the soft cross-entropy, 1 − α times the hard one")
def hard_and_soft(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(vectors, slow, others, queue):
        candidates = torch.cat((others, queue), dim=0).detach()
        logs = F.log_softmax(vectors @ candidates.mT / temperature, dim=-1)
        soft = -(F.softmax(slow.detach() @ candidates.mT / temperature, dim=-1) * logs).sum(-1).mean()
        hard = F.nll_loss(logs, torch.arange(len(vectors), device=vectors.device))
        return alpha * soft + (1 - alpha) * hard

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return 0.5 * (pictures + side(texts, momentum_texts, momentum_images, image_queue))


@right("Both sides stacked to one tensor [2, N, N + K]")
def stacked(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    N = images.shape[0]
    learning = torch.stack([images, texts])
    slow = torch.stack([momentum_images, momentum_texts]).detach()
    candidates = torch.stack([torch.cat([momentum_texts, text_queue]), torch.cat([momentum_images, image_queue])])
    candidates = candidates.detach().transpose(1, 2)
    target = alpha * torch.softmax(torch.bmm(slow, candidates) / temperature, -1)
    target.diagonal(dim1=1, dim2=2).add_(1 - alpha)
    logs = torch.log_softmax(torch.bmm(learning, candidates) / temperature, -1)
    return -(target * logs).sum() / (2 * N)


@right("log-sum-exp minus the mean score under the targets, scores of batch and queue computed apart")
def batch_and_queue_apart(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    slow_i, slow_t, queue_i, queue_t = (x.detach() for x in (momentum_images, momentum_texts, image_queue, text_queue))
    losses = []
    for q, slow, here, before in ((images, slow_i, slow_t, queue_t), (texts, slow_t, slow_i, queue_i)):
        scores = torch.cat([q @ here.T, q @ before.T], 1) / temperature
        soft = (torch.cat([slow @ here.T, slow @ before.T], 1) / temperature).softmax(1)
        expected = alpha * (soft * scores).sum(1) + (1 - alpha) * scores.diagonal()
        losses.append(scores.logsumexp(1) - expected)
    return torch.cat(losses).mean()


@right("A loop over the pairs, candidates by matrix times vector")
def pair_by_pair(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    total = 0
    all_texts = torch.cat([momentum_texts, text_queue]).detach()
    all_images = torch.cat([momentum_images, image_queue]).detach()
    for n in range(images.shape[0]):
        for vector, slow, candidates in (
            (images[n], momentum_images[n], all_texts),
            (texts[n], momentum_texts[n], all_images),
        ):
            target = torch.mv(candidates, slow.detach()).div(temperature).softmax(0) * alpha
            target[n] += 1 - alpha
            total = total - torch.dot(target, torch.mv(candidates, vector).div(temperature).log_softmax(0))
    return total / (2 * images.shape[0])


@right("kl_div plus the targets' entropy")
def divergence_and_entropy(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def one(q, slow, others, queue):
        with torch.no_grad():
            candidates = torch.vstack([others, queue])
            target = alpha * (slow @ candidates.T / temperature).softmax(-1)
            target += (1 - alpha) * F.one_hot(torch.arange(len(q), device=q.device), len(candidates)).to(target)
            entropy = torch.special.entr(target).sum(-1).mean()
        return F.kl_div((q @ candidates.T / temperature).log_softmax(-1), target, reduction="batchmean") + entropy

    return torch.lerp(
        one(images, momentum_images, momentum_texts, text_queue),
        one(texts, momentum_texts, momentum_images, image_queue),
        0.5,
    )


class _SoftLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, target):
        logs = scores.log_softmax(-1)
        ctx.save_for_backward(logs, target)
        return -(target * logs).sum(-1).mean()

    @staticmethod
    def backward(ctx, slope):
        logs, target = ctx.saved_tensors
        return slope * (logs.exp() * target.sum(-1, keepdim=True) - target) / len(target), None


@right("A function of autograd, its gradient written down")
def own_gradient(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    slow = (momentum_images.detach(), momentum_texts.detach())
    candidates = (torch.cat([slow[1], text_queue.detach()]), torch.cat([slow[0], image_queue.detach()]))
    loss = 0
    for q, s, c in zip((images, texts), slow, candidates):
        target = torch.einsum("nd,kd->nk", s, c).div(temperature).softmax(1).mul(alpha)
        target.diagonal().add_(1 - alpha)
        loss = loss + _SoftLoss.apply(torch.einsum("nd,kd->nk", q, c) / temperature, target)
    return loss / 2


# Right, and not registered: answers below are changes of it.
def _plain(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


# ---------------------------------------------------------------- wrong: gradients


change(_plain, "candidates_learn",
       "the batch's part of the candidates is not detached: gradients reach the slow copies", "gradient",
       (".cat([others, queue]).detach()", ".cat([others, queue.detach()])"), ("slow.detach()", "slow"),
       (".softmax(1)", ".softmax(1).detach()"))
change(_plain, "queues_learn", "the queues are not detached: gradients reach them", "gradient",
       (".cat([others, queue]).detach()", ".cat([others.detach(), queue])"), ("slow.detach()", "slow"),
       (".softmax(1)", ".softmax(1).detach()"))
change(_plain, "targets_learn",
       "the soft targets are not detached: gradients reach the slow copies through them", "gradient",
       ("slow.detach()", "slow"))


@wrong("everything stands under no_grad: nothing learns", kind="gradient")
@torch.no_grad()
def nothing_learns(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue])
        target = alpha * (slow @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


change(_plain, "texts_detached", "texts are detached on their side: only the pictures' encoder learns", "gradient",
       ("texts, momentum_texts", "texts.detach(), momentum_texts"))


@wrong(
    "straight-through: the value is right, but the batch's candidates carry the gradient of texts and images",
    kind="gradient",
)
def straight_through(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue, fast):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        c = torch.cat([others.detach() + (fast - fast.detach()), queue.detach()])
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue, texts)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue, images)) / 2


change(_plain, "sum_detached",
       "the log-sum-exp is detached: the value is right, the gradient lacks the push away from the others", "gradient",
       before("return -", "scores = q @ c.T / temperature"),
       ("(q @ c.T / temperature).log_softmax(1)", "(scores - scores.logsumexp(1, keepdim=True).detach())"))


# ---------------------------------------------------------------- wrong: concepts


change(_plain, "candidates_of_the_fast",
       "the batch's candidates are the learning encoders' vectors (detached), not the slow copies'", "concept",
       ("momentum_texts, text_queue", "texts, text_queue"), ("momentum_images, image_queue", "images, image_queue"))


@wrong("the soft targets come from the learning vectors (detached), not from their slow copies", kind="concept")
def targets_of_the_fast(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, others, queue):
        c = torch.cat([others, queue]).detach()
        scores = q @ c.T / temperature
        target = alpha * scores.detach().softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * scores.log_softmax(1)).sum(1).mean()

    return (side(images, momentum_texts, text_queue) + side(texts, momentum_images, image_queue)) / 2


change(_plain, "queue_first",
       "the queue stands before the batch, while the own candidate is still looked for at place i", "concept",
       ("[others, queue]", "[queue, others]"))
change(_plain, "alpha_exchanged", "α and 1 − α are exchanged", "concept",
       ("target = alpha", "target = (1 - alpha)"), ("(1 - alpha)", "alpha"))


@wrong("hard targets only: α is not used", kind="concept")
def hard_only(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    own = torch.arange(len(images), device=images.device)
    all_texts = torch.cat([momentum_texts, text_queue]).detach()
    all_images = torch.cat([momentum_images, image_queue]).detach()
    pictures = F.cross_entropy(images @ all_texts.T / temperature, own)
    return (pictures + F.cross_entropy(texts @ all_images.T / temperature, own)) / 2


change(_plain, "one_hot_whole",
       "the one-hot part is added without its factor 1 − α, so that targets sum to 1 + α", "concept",
       ("(1 - alpha) * torch", "torch"))


@wrong("the queues are forgotten: the batch's N candidates alone", kind="concept")
def no_queue(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others):
        c = others.detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    return (side(images, momentum_images, momentum_texts) + side(texts, momentum_texts, momentum_images)) / 2


change(_plain, "targets_of_the_batch",
       "the soft targets are a softmax over the batch alone, with 0 for the queue", "concept",
       ("target = alpha * (slow.detach() @ c.T / temperature).softmax(1)",
        "soft = F.pad((slow.detach() @ others.detach().T / temperature).softmax(1), (0, len(queue)))"),
       ("target = target", "target = alpha * soft"), ("target.shape", "soft.shape"))


@wrong("the temperature is missing in the soft targets", kind="concept")
def targets_without_temperature(
    images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha
):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong("the temperature is missing in the scores of the learning vectors", kind="concept")
def scores_without_temperature(
    images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha
):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong("only the pictures' loss comes back", kind="concept")
def pictures_only(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    c = torch.cat([momentum_texts, text_queue]).detach()
    target = alpha * (momentum_images.detach() @ c.T / temperature).softmax(1)
    target = target + (1 - alpha) * torch.eye(*target.shape, dtype=c.dtype, device=c.device)
    return F.cross_entropy(images @ c.T / temperature, target) + 0 * texts.sum()


change(_plain, "sum_of_both", "both losses are added, not averaged", "concept",
       ("return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2",
        "return pictures + side(texts, momentum_texts, momentum_images, image_queue)"))
change(_plain, "divergence",
       "the Kullback-Leibler divergence in place of the cross-entropy: the targets' entropy is subtracted", "concept",
       ("return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()",
        'return F.kl_div((q @ c.T / temperature).log_softmax(1), target, reduction="batchmean")'))
change(_plain, "same_kind",
       "pictures are compared with the slow pictures and the pictures' queue, texts with texts", "concept",
       ("momentum_texts, text_queue", "momentum_images, image_queue"),
       ("momentum_images, image_queue", "momentum_texts, text_queue"))
change(_plain, "queues_exchanged", "the two queues are exchanged", "concept",
       ("momentum_texts, text_queue", "momentum_texts, image_queue"),
       ("momentum_images, image_queue", "momentum_images, text_queue"))


@wrong("the pictures' targets serve the texts too", kind="concept")
def one_target_for_both(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    all_texts = torch.cat([momentum_texts, text_queue]).detach()
    all_images = torch.cat([momentum_images, image_queue]).detach()
    target = alpha * (momentum_images.detach() @ all_texts.T / temperature).softmax(1)
    target = target + (1 - alpha) * torch.eye(*target.shape, dtype=target.dtype, device=target.device)
    pictures = F.cross_entropy(images @ all_texts.T / temperature, target)
    return (pictures + F.cross_entropy(texts @ all_images.T / temperature, target)) / 2


@wrong("the texts' soft targets are made with momentum_images", kind="concept")
def texts_with_slow_pictures(
    images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha
):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_images, momentum_images, image_queue)) / 2


change(_plain, "turned_round", "the cross-entropy is turned round: −Σ softmax(score) log target", "concept",
       before("return -", "logs = target.clamp_min(torch.finfo(target.dtype).tiny).log()"),
       ("target * (q @ c.T / temperature).log_softmax(1)", "(q @ c.T / temperature).softmax(1) * logs"))


@wrong("slow scores are mixed with the one-hot before the softmax, not after it", kind="concept")
def mixed_before_softmax(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        slow_scores = slow.detach() @ c.T / temperature
        eye = torch.eye(*slow_scores.shape, dtype=q.dtype, device=q.device)
        target = (alpha * slow_scores + (1 - alpha) * eye).softmax(1)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


change(_plain, "best_candidate", "the soft part is the slow copy's best candidate (argmax), not its softmax", "concept",
       ("target = alpha * (slow.detach() @ c.T / temperature).softmax(1)",
        "best = F.one_hot((slow.detach() @ c.T).argmax(1), len(c)).to(q.dtype)"),
       ("target = target", "target = alpha * best"), ("target.shape", "best.shape"))


@wrong("the soft part is label smoothing: α is spread evenly over all candidates", kind="concept")
def spread_evenly(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    own = torch.arange(len(images), device=images.device)
    all_texts = torch.cat([momentum_texts, text_queue]).detach()
    all_images = torch.cat([momentum_images, image_queue]).detach()
    pictures = F.cross_entropy(images @ all_texts.T / temperature, own, label_smoothing=alpha)
    return (pictures + F.cross_entropy(texts @ all_images.T / temperature, own, label_smoothing=alpha)) / 2


@wrong("the own candidate is left out of the slow softmax", kind="concept")
def own_left_out(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        eye = torch.eye(len(q), len(c), dtype=q.dtype, device=q.device)
        soft = (slow.detach() @ c.T / temperature).masked_fill(eye.bool(), -math.inf).softmax(1)
        target = alpha * soft + (1 - alpha) * eye
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


change(_plain, "sign_missing", "the sign is missing", "concept",
       ("return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()",
        "return (target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()"))


# ---------------------------------------------------------------- wrong: axes, shapes


change(_plain, "mean_over_all", "mean over all N (N + K) entries in place of the sum over the candidates", "shape",
       (".sum(1).mean()", ".mean()"))
change(targets_without_temperature, "slow_softmax_over_batch",
       "the slow softmax runs over the batch (dim 0), not over the candidates", "shape",
       ("(slow.detach() @ c.T).softmax(1)", "(slow.detach() @ c.T / temperature).softmax(0)"))
change(_plain, "log_softmax_over_batch",
       "the log-softmax runs over the batch (dim 0), not over the candidates", "shape",
       (".log_softmax(1)", ".log_softmax(0)"))
change(_plain, "summed_over_batch", "summed over the batch, not averaged", "shape",
       (".sum(1).mean()", ".sum()"))
change(_plain, "own_place_moved", "the own place is moved by K, though the queue stands behind the batch", "shape",
       after("c = torch.cat([others, queue]).detach()",
             "own = F.one_hot(torch.arange(len(q), device=q.device) + len(queue), len(c)).to(q.dtype)"),
       (".softmax(1)", ".softmax(1) + (1 - alpha) * own"),
       ("target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)", ""))
change(_plain, "queue_as_long_as_batch",
       "a square identity of size N is padded to 2N columns: it fails unless the queue is as long as the batch", "edge",
       after("c = torch.cat([others, queue]).detach()", """
        eye = torch.eye(len(q), dtype=q.dtype, device=q.device)
        own = torch.cat([eye, torch.zeros_like(eye)], 1)"""),
       (".softmax(1)", ".softmax(1) + (1 - alpha) * own"),
       ("target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)", ""))
change(_plain, "queue_by_view",
       "view(-1) on the queues fails for a transposed layout (a queue stored as [D, K])", "layout",
       ("[others, queue]", "[others, queue.view(-1).view(-1, q.shape[1])]"))


# ---------------------------------------------------------------- wrong: numerics


change(_plain, "log_of_softmax",
       "softmax, then the logarithm: at a low temperature 0 times −∞ or a gradient of NaN", "numerics",
       (".log_softmax(1)", ".softmax(1).log()"))
change(_plain, "slow_exponentials",
       "the slow softmax is e^score over its sum, which overflows at a low temperature", "numerics",
       ("target = alpha * (slow.detach() @ c.T / temperature).softmax(1)", """
        powers = (slow.detach() @ c.T / temperature).exp()
        target = alpha * powers / powers.sum(1, keepdim=True)"""))
change(_plain, "logarithm_cut",
       "log-softmax is cut at −20, so that larger losses do not count and get no gradient", "numerics",
       (".log_softmax(1)", ".log_softmax(1).clamp(min=-20)"))
change(_plain, "targets_in_half", "the targets are kept in half precision", "numerics",
       ("return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()",
        "return -(target.half().to(q.dtype) * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()"))


# ---------------------------------------------------------------- wrong: interface


@wrong("all is computed in float32: float64 comes back as float32", kind="interface")
def always_float(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach().float()
        target = alpha * (slow.detach().float() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, device=q.device)
        return -(target * (q.float() @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


change(_plain, "identity_on_the_cpu",
       "the identity stands on the CPU, which fails with inputs on another device", "interface",
       ("dtype=q.dtype, device=q.device", "dtype=q.dtype"))
change(_plain, "queue_refilled",
       "the batch is put into the queues in place, after the loss (the newest replace the first places)", "interface",
       ("return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2", """
        loss = (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2
        with torch.no_grad():
            n = min(len(images), len(image_queue))
            image_queue[:n], text_queue[:n] = momentum_images[:n], momentum_texts[:n]
        return loss"""))
change(_plain, "slow_copies_moved",
       "the slow copies are moved towards the learning vectors in place before use", "interface",
       ("def side(q, slow, others, queue):", """
        with torch.no_grad():
            momentum_images.mul_(0.995).add_(0.005 * images)
            momentum_texts.mul_(0.995).add_(0.005 * texts)

        def side(q, slow, others, queue):"""))
change(_plain, "alpha_fixed", "α is fixed at 0.4, as in the paper; the argument is not used", "interface",
       ("target = alpha", "target = 0.4"), ("(1 - alpha)", "0.6"))
change(_plain, "two_losses", "both losses come back as a pair", "interface",
       ("return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2",
        "return pictures, side(texts, momentum_texts, momentum_images, image_queue)"))
