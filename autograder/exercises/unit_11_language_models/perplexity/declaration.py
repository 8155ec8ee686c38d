"""Exercise 5: the loss of a language model over a batch of texts, and its perplexity."""

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise

WIDE = {"logits": 1.5}
LARGE = 1500  # logits, among which a mistake may count for little


def _drawn(inputs, sizes, rng):
    """Texts of 3 to N tokens, one of N; any token may stand in the padding."""
    B, N, V = (sizes[name] for name in ("B", "N", "V"))
    return _texts(B, N, V, rng)


def _texts(B, N, V, rng) -> dict:
    shortest = min(3, N)
    lengths = rng.integers(shortest, max(N, shortest + 1), size=B)
    if B <= N - shortest:
        lengths = shortest + rng.permutation(N - shortest)[:B]  # all different
    if B > 1:
        lengths[rng.integers(B)] = N
    return {"tokens": rng.integers(0, V, size=(B, N)), "lengths": lengths.astype("int64")}


def _clear(edit=lambda inputs, rng: None):
    """The edit, on other numbers wherever a mistake would hardly show."""

    def edited(inputs, rng):
        B, N, V = inputs["logits"].shape
        spread = max(1.0, inputs["logits"].std())
        edit(inputs, rng)
        while inputs["logits"].size <= LARGE and not _shows(inputs):
            inputs["logits"] = (rng.standard_normal((B, N, V)) * spread).astype(np.float32)
            inputs.update(_texts(B, N, V, rng))
            edit(inputs, rng)

    return edited


def _shows(inputs) -> bool:
    """Whether each mistake gives what is right, or something else by more than a hundredth."""
    given = [torch.from_numpy(inputs[name]) for name in ("logits", "tokens", "lengths")]
    right = torch.stack(perplexity.reference(*given))
    for mistake in perplexity.misconceptions:
        made = torch.stack(mistake.object(*given))
        if made.shape == right.shape and 1e-6 < ((made - right).abs() / (1 + right.abs())).max() < 0.01:
            return False
    return True


def _likely(inputs, rng):
    """Each real token is the likeliest by a little, so that even very large logits leave the perplexity finite."""
    logits, tokens = inputs["logits"], inputs["tokens"]
    for b, length in enumerate(inputs["lengths"]):
        for n in range(1, length):
            largest, word = logits[b, n - 1].argmax(), tokens[b, n]
            if word != largest:
                logits[b, n - 1, word] = logits[b, n - 1, largest] + rng.uniform(0.01, 0.03)


def _all_full(inputs, rng):
    inputs["lengths"][:] = inputs["tokens"].shape[1]


def _some_alone(inputs, rng):
    """Two texts are a first token and no more, one is short, and none fills all positions."""
    lengths, N = inputs["lengths"], inputs["tokens"].shape[1]
    short = rng.permutation(len(lengths))
    np.minimum(lengths, N - 1, out=lengths)
    lengths[short[:2]] = 1
    lengths[short[2]] = 3


def _one_pair(inputs, rng):
    """A single token is predicted in the whole batch."""
    inputs["lengths"][:] = 1
    inputs["lengths"][rng.integers(1, len(inputs["lengths"]))] = 2


def _two_unlikely(inputs, rng):
    """Of two tokens the probability is too small for single precision."""
    b = int(inputs["lengths"].argmax())
    for n in 1 + rng.permutation(inputs["lengths"][b] - 1)[:2]:
        inputs["logits"][b, n - 1, inputs["tokens"][b, n]] -= 130


def _far_off(inputs, rng):
    """Every token that follows is so unlikely that the loss is far above 20."""
    for text, tokens in zip(inputs["logits"], inputs["tokens"]):
        text[np.arange(len(tokens) - 1), tokens[1:]] -= 30


def _high(inputs, rng):
    """The logits of each position are all very large or all very small."""
    inputs["logits"] += rng.choice([-150, 150], size=inputs["logits"].shape[:2])[..., None].astype(np.float32)


def _long(inputs, rng):
    inputs["lengths"][:] = inputs["tokens"].shape[1] - 40 * np.arange(len(inputs["lengths"]))


@exercise(
    points=3,
    section="Perplexity",
    source="Jelinek et al. 1977; Bengio et al. 2003",
    outputs="loss perplexity",
    formula="loss = (1/M) Σ_b Σ_n −log softmax(logits[b, n − 1])[tokens[b, n]], n = 1, …, lengths[b] − 1, with"
    " M = Σ_b (lengths[b] − 1) predicted tokens in the batch; perplexity = exp(loss); logits [B, N, V], tokens [B, N],"
    " lengths [B], two scalars []",
    cases=[
        Case("texts of different lengths", sizes={"N": 8, "B": 3}, scale=WIDE, edit=_clear()),
        Case("texts that fill all positions", sizes={"N": 7, "V": 5}, scale=WIDE, edit=_clear(_all_full)),
        Case("texts of a single token among others", sizes={"N": 9, "B": 5}, scale=WIDE, edit=_clear(_some_alone)),
        Case("one text", sizes={"B": 1, "N": 10}, scale=WIDE, edit=_clear()),
        Case("likely tokens", sizes={"N": 9}, edit=_clear(_likely)),
        Case("tokens that are very unlikely", sizes={"B": 4, "N": 11}, scale=WIDE, edit=_clear(_two_unlikely)),
        Case("a model that is far off", sizes={"B": 3, "N": 8}, scale=WIDE, edit=_clear(_far_off)),
        Case("long texts", sizes={"B": 2, "N": 70}, scale=WIDE, edit=_clear(_long)),
        Case("a single predicted token", sizes={"B": 4, "N": 6}, scale=WIDE, edit=_clear(_one_pair), edge=True),
        Case("texts of two tokens", sizes={"N": 2, "B": 5}, scale=WIDE, edit=_clear(_all_full), edge=True),
        Case("a vocabulary of 1000 tokens", sizes={"N": 7, "B": 4, "V": 1000}, edge=True),
        Case(
            "hundreds of tokens in bfloat16", sizes={"B": 4, "N": 99}, edit=_all_full, precision="bfloat16", edge=True
        ),
        Case("positions whose logits are all high or low", sizes={"N": 8, "B": 4}, edit=_clear(_high), edge=True),
    ],
    draws=_drawn,
    gradients="loss",
)
def perplexity(
    logits: Float[Tensor, "B N V"], tokens: Int[Tensor, "B N"], lengths: Int[Tensor, "B"]
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    sums = []
    for scores, text, length in zip(logits, tokens, lengths.tolist()):  # [N, V], [N]
        sums.append(F.cross_entropy(scores[: length - 1], text[1:length], reduction="sum"))
    loss = torch.stack(sums).sum() / (lengths - 1).sum()  # []
    return loss, loss.exp()


def _surprisal(logits, tokens):
    """−log p of each token but the first, [B, N − 1]."""
    return -logits[:, :-1].log_softmax(dim=-1).gather(2, tokens[:, 1:, None])[:, :, 0]


def _predicted(tokens, lengths, more=0, skip=0):
    """True where a token is predicted, [B, N − 1]; the first column is about token 1."""
    n = torch.arange(1, tokens.shape[1], device=tokens.device)
    return (n < lengths[:, None] + more) & (n > skip)


def _total(values, counts):
    return values.masked_fill(~counts, 0.0).sum()


def _mean(values, counts):
    return _total(values, counts) / counts.sum()


def _both(loss):
    return loss, loss.exp()


@perplexity.alternative
def as_a_student(logits, tokens, lengths):
    log_p = F.log_softmax(logits[:, :-1], dim=-1)
    nll = -log_p.gather(-1, tokens[:, 1:].unsqueeze(-1)).squeeze(-1)  # [B, N − 1]
    mask = torch.arange(1, tokens.shape[1], device=tokens.device) < lengths.unsqueeze(1)
    loss = (nll * mask).sum() / mask.sum()
    return loss, torch.exp(loss)


@perplexity.alternative
def by_cross_entropy_with_ignored_places(logits, tokens, lengths):
    targets = tokens.clone()
    targets[torch.arange(tokens.shape[1], device=tokens.device) >= lengths[:, None]] = -100
    loss = F.cross_entropy(logits[:, :-1].reshape(-1, logits.shape[-1]), targets[:, 1:].reshape(-1))
    return loss, loss.exp()


@perplexity.alternative
def by_choosing_rows(logits, tokens, lengths):
    real = torch.arange(tokens.shape[1] - 1, device=tokens.device)[None] + 1 < lengths[:, None]
    loss = F.cross_entropy(logits[:, :-1][real], tokens[:, 1:][real])
    return [loss, loss.exp()]


@perplexity.alternative
def with_logsumexp_and_one_hot(logits, tokens, lengths):
    hot = F.one_hot(tokens[:, 1:], logits.shape[-1]).to(logits.dtype)
    nll = logits[:, :-1].logsumexp(dim=-1) - torch.einsum("bnv,bnv->bn", logits[:, :-1], hot)
    loss = torch.where(_predicted(tokens, lengths), nll, torch.zeros_like(nll)).sum() / (lengths.sum() - len(lengths))
    return loss, loss.exp()


@perplexity.alternative
def token_by_token(logits, tokens, lengths):
    terms = []
    for b, length in enumerate(lengths.tolist()):
        for n in range(1, length):
            terms.append(-logits[b, n - 1].log_softmax(dim=0)[tokens[b, n]])
    loss = sum(terms) / len(terms)
    return loss, loss.exp()


@perplexity.alternative
def one_row_of_texts(logits, tokens, lengths):
    """The texts one after the other, without padding."""
    steps = (lengths - 1).tolist()
    predicting = torch.cat([scores[:count] for scores, count in zip(logits, steps)])
    wanted = torch.cat([text[1 : 1 + count] for text, count in zip(tokens, steps)])
    loss = F.nll_loss(predicting.log_softmax(dim=1), wanted)
    return loss, torch.e**loss
