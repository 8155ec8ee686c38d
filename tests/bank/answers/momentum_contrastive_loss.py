"""Answers to momentum_contrastive_loss (assignment 16)."""

import math

import torch
import torch.nn.functional as F
from answers import right, wrong

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


# ---------------------------------------------------------------- wrong: gradients


@wrong("the batch's part of the candidates is not detached: gradients reach the slow copies", kind="gradient")
def candidates_learn(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue.detach()])
        target = alpha * (slow @ c.T / temperature).softmax(1).detach()
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong("the queues are not detached: gradients reach them", kind="gradient")
def queues_learn(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others.detach(), queue])
        target = alpha * (slow @ c.T / temperature).softmax(1).detach()
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong("the soft targets are not detached: gradients reach the slow copies through them", kind="gradient")
def targets_learn(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


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


@wrong("texts are detached on their side: only the pictures' encoder learns", kind="gradient")
def texts_detached(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts.detach(), momentum_texts, momentum_images, image_queue)) / 2


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


@wrong(
    "the log-sum-exp is detached: the value is right, the gradient lacks the push away from the others", kind="gradient"
)
def sum_detached(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        scores = q @ c.T / temperature
        return -(target * (scores - scores.logsumexp(1, keepdim=True).detach())).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


# ---------------------------------------------------------------- wrong: concepts


@wrong("the batch's candidates are the learning encoders' vectors (detached), not the slow copies'", kind="concept")
def candidates_of_the_fast(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, texts, text_queue)
    return (pictures + side(texts, momentum_texts, images, image_queue)) / 2


@wrong("the soft targets come from the learning vectors (detached), not from their slow copies", kind="concept")
def targets_of_the_fast(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, others, queue):
        c = torch.cat([others, queue]).detach()
        scores = q @ c.T / temperature
        target = alpha * scores.detach().softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * scores.log_softmax(1)).sum(1).mean()

    return (side(images, momentum_texts, text_queue) + side(texts, momentum_images, image_queue)) / 2


@wrong("the queue stands before the batch, while the own candidate is still looked for at place i", kind="concept")
def queue_first(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([queue, others]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong("α and 1 − α are exchanged", kind="concept")
def alpha_exchanged(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = (1 - alpha) * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + alpha * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong("hard targets only: α is not used", kind="concept")
def hard_only(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    own = torch.arange(len(images), device=images.device)
    all_texts = torch.cat([momentum_texts, text_queue]).detach()
    all_images = torch.cat([momentum_images, image_queue]).detach()
    pictures = F.cross_entropy(images @ all_texts.T / temperature, own)
    return (pictures + F.cross_entropy(texts @ all_images.T / temperature, own)) / 2


@wrong("the one-hot part is added without its factor 1 − α, so that targets sum to 1 + α", kind="concept")
def one_hot_whole(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong("the queues are forgotten: the batch's N candidates alone", kind="concept")
def no_queue(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others):
        c = others.detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    return (side(images, momentum_images, momentum_texts) + side(texts, momentum_texts, momentum_images)) / 2


@wrong("the soft targets are a softmax over the batch alone, with 0 for the queue", kind="concept")
def targets_of_the_batch(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        soft = F.pad((slow.detach() @ others.detach().T / temperature).softmax(1), (0, len(queue)))
        target = alpha * soft + (1 - alpha) * torch.eye(*soft.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


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


@wrong("both losses are added, not averaged", kind="concept")
def sum_of_both(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return pictures + side(texts, momentum_texts, momentum_images, image_queue)


@wrong(
    "the Kullback-Leibler divergence in place of the cross-entropy: the targets' entropy is subtracted", kind="concept"
)
def divergence(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return F.kl_div((q @ c.T / temperature).log_softmax(1), target, reduction="batchmean")

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong("pictures are compared with the slow pictures and the pictures' queue, texts with texts", kind="concept")
def same_kind(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_images, image_queue)
    return (pictures + side(texts, momentum_texts, momentum_texts, text_queue)) / 2


@wrong("the two queues are exchanged", kind="concept")
def queues_exchanged(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, image_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, text_queue)) / 2


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


@wrong("the cross-entropy is turned round: −Σ softmax(score) log target", kind="concept")
def turned_round(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        logs = target.clamp_min(torch.finfo(target.dtype).tiny).log()
        return -((q @ c.T / temperature).softmax(1) * logs).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


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


@wrong("the soft part is the slow copy's best candidate (argmax), not its softmax", kind="concept")
def best_candidate(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        best = F.one_hot((slow.detach() @ c.T).argmax(1), len(c)).to(q.dtype)
        target = alpha * best + (1 - alpha) * torch.eye(*best.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


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


@wrong("the sign is missing", kind="concept")
def sign_missing(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return (target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


# ---------------------------------------------------------------- wrong: axes, shapes


@wrong("mean over all N (N + K) entries in place of the sum over the candidates", kind="shape")
def mean_over_all(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong("the slow softmax runs over the batch (dim 0), not over the candidates", kind="shape")
def slow_softmax_over_batch(
    images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha
):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(0)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong("the log-softmax runs over the batch (dim 0), not over the candidates", kind="shape")
def log_softmax_over_batch(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(0)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong("summed over the batch, not averaged", kind="shape")
def summed_over_batch(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong("the own place is moved by K, though the queue stands behind the batch", kind="shape")
def own_place_moved(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        own = F.one_hot(torch.arange(len(q), device=q.device) + len(queue), len(c)).to(q.dtype)
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1) + (1 - alpha) * own
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong(
    "a square identity of size N is padded to 2N columns: it fails unless the queue is as long as the batch",
    kind="edge",
)
def queue_as_long_as_batch(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        eye = torch.eye(len(q), dtype=q.dtype, device=q.device)
        own = torch.cat([eye, torch.zeros_like(eye)], 1)
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1) + (1 - alpha) * own
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong("view(-1) on the queues fails for a transposed layout (a queue stored as [D, K])", kind="layout")
def queue_by_view(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue.view(-1).view(-1, q.shape[1])]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


# ---------------------------------------------------------------- wrong: numerics


@wrong("softmax, then the logarithm: at a low temperature 0 times −∞ or a gradient of NaN", kind="numerics")
def log_of_softmax(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).softmax(1).log()).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong("the slow softmax is e^score over its sum, which overflows at a low temperature", kind="numerics")
def slow_exponentials(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        powers = (slow.detach() @ c.T / temperature).exp()
        target = alpha * powers / powers.sum(1, keepdim=True)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong("log-softmax is cut at −20, so that larger losses do not count and get no gradient", kind="numerics")
def logarithm_cut(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1).clamp(min=-20)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong("the targets are kept in half precision", kind="numerics")
def targets_in_half(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target.half().to(q.dtype) * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


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


@wrong("the identity stands on the CPU, which fails with inputs on another device", kind="interface")
def identity_on_the_cpu(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong(
    "the batch is put into the queues in place, after the loss (the newest replace the first places)", kind="interface"
)
def queue_refilled(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    loss = (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2
    with torch.no_grad():
        n = min(len(images), len(image_queue))
        image_queue[:n], text_queue[:n] = momentum_images[:n], momentum_texts[:n]
    return loss


@wrong("the slow copies are moved towards the learning vectors in place before use", kind="interface")
def slow_copies_moved(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    with torch.no_grad():
        momentum_images.mul_(0.995).add_(0.005 * images)
        momentum_texts.mul_(0.995).add_(0.005 * texts)

    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong("α is fixed at 0.4, as in the paper; the argument is not used", kind="interface")
def alpha_fixed(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = 0.4 * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + 0.6 * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return (pictures + side(texts, momentum_texts, momentum_images, image_queue)) / 2


@wrong("both losses come back as a pair", kind="interface")
def two_losses(images, texts, momentum_images, momentum_texts, image_queue, text_queue, temperature, alpha):
    def side(q, slow, others, queue):
        c = torch.cat([others, queue]).detach()
        target = alpha * (slow.detach() @ c.T / temperature).softmax(1)
        target = target + (1 - alpha) * torch.eye(*target.shape, dtype=q.dtype, device=q.device)
        return -(target * (q @ c.T / temperature).log_softmax(1)).sum(1).mean()

    pictures = side(images, momentum_images, momentum_texts, text_queue)
    return pictures, side(texts, momentum_texts, momentum_images, image_queue)
