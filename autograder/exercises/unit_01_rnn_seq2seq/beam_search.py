"""Exercise 6: beam search."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from autograder.bank.declaration import Case, exercise
from autograder.exercises.unit_01_rnn_seq2seq._shared import built, draw_until
from utils.data.translation import START, STOP

CUT = 4  # a max_length that cuts the best sentence off


def _drawn(inputs, sizes, rng):
    """A decoder for which the beam finds what plausible mistakes miss: each case has some that must show."""
    k, limit = inputs["beam_size"], inputs["max_length"]
    showing = _SHOWING[k, limit]()

    def fits(decoder, s):
        decoder, s = built(decoder), torch.from_numpy(s)
        best, score = _search(decoder, s, k, limit)
        if len(set(best.tolist())) < 3 or bool(best[-1] == STOP) == (limit == CUT):
            return False
        return not any(torch.equal(mistake(decoder, s, k, limit)[0], best) for mistake in showing)

    return draw_until(fits, sizes, rng, (sizes["D_H"],), stop=0.0, contrast=2.5)


def _ended(hypothesis) -> bool:
    return hypothesis[0][-1:] == [STOP]


def _search(
    decoder, s, k, max_length, score=None, ended="kept", own_states=True, rank=None, place=0, best_of=None, until=all
):
    """Beam search, a hypothesis being (tokens, total, state); the options make mistakes."""
    score = score or (lambda logits: logits.log_softmax(-1))
    rank = rank or (lambda total, length: total)
    beam, aside = [([], s.new_zeros(()), s)], []
    for _ in range(max_length):
        if not beam or until(map(_ended, beam)):
            break
        candidates = [(rank(float(one[1]), len(one[0])), one) for one in beam if _ended(one) and ended == "kept"]
        for words, total, state in beam:
            if _ended((words,)) and ended != "expanded":
                continue
            y = torch.tensor([words[-1] if words else START], device=s.device)
            logits, new = decoder(y, state[None])
            totals = total + score(logits[0])
            for word, value in enumerate(totals.tolist()):
                candidates.append((rank(value, len(words) + 1), ([*words, word], totals[word], new[0])))
        candidates.sort(key=lambda one: -one[0])
        if ended == "aside":
            aside += [one for _, one in candidates[:k] if _ended(one)]
            candidates = [one for one in candidates if not _ended(one[1])]
        beam = [one for _, one in candidates[:k]]
        if not own_states:
            beam = [(words, total, beam[0][2]) for words, total, _ in beam]
    found = sorted([*beam, *aside], key=lambda one: -float(one[1])) if aside else beam
    words, total, _ = (best_of or (lambda all_of_them: all_of_them[place]))(found)
    return torch.tensor(words, device=s.device), total


@exercise(
    points=4,
    section="Beam search",
    source="Sutskever, Vinyals and Le 2014, section 3.2; Wu et al. 2016, section 7, on length",
    outputs="y score",
    formula="keep the beam_size best of all continuations, by Σ_t log p(y_t); one that has ended with [STOP] stays as it is;"
    " until all have ended or are max_length long; y [L]: the best, without [START]; score: its Σ_t log p(y_t)",
    cases=[
        Case("a beam of two", values={"beam_size": 2, "max_length": 12}, sizes={"V": 9}),
        Case("a beam of three", values={"beam_size": 3, "max_length": 14}, sizes={"V": 8}),
        Case("a beam of four", values={"beam_size": 4, "max_length": 13}, sizes={"V": 10}),
        Case("one hypothesis ends early and does not win", values={"beam_size": 3, "max_length": 11}, sizes={"V": 9}),
        Case("hypotheses that ended take up places", values={"beam_size": 2, "max_length": 15}, sizes={"V": 8}),
        Case("cut off at max_length", values={"beam_size": 3, "max_length": CUT}, sizes={"V": 9}),
        Case("a beam of one", values={"beam_size": 1, "max_length": 10}, sizes={"V": 9}),
        Case("a beam wider than the vocabulary", values={"beam_size": 8, "max_length": 9}, sizes={"V": 7}),
    ],
    draws=_drawn,
    differentiable=False,
    waived=dict.fromkeys(
        ("large", "spread", "zero"), "decoder and state are drawn together, until the best sentence is clear"
    ),
)
def beam_search(
    decoder: Callable, s: Float[Tensor, "D_H"], beam_size: int, max_length: int
) -> tuple[Int[Tensor, "L"], Float[Tensor, ""]]:
    return _search(decoder, s, beam_size, max_length)


@beam_search.misconception
def greedy(decoder, s, beam_size, max_length):
    """This is what greedy decoding finds: only the most likely token is followed at each step, or the beam began with
    beam_size equal hypotheses, which stay equal. Begin with one hypothesis, then keep beam_size: one that starts worse
    can win."""
    return _search(decoder, s, 1, max_length)


@beam_search.misconception
def probabilities_added(decoder, s, beam_size, max_length):
    """Probabilities are added up. The probability of a sentence is a product, so it is the logarithms that are
    added."""
    return _search(decoder, s, beam_size, max_length, score=lambda logits: logits.softmax(-1))


@beam_search.misconception
def logits_added(decoder, s, beam_size, max_length):
    """Logits are added up as they are. They are not log-probabilities: adding any constant to the logits of a step
    would change the sum, but not the probabilities. Apply log_softmax first."""
    return _search(decoder, s, beam_size, max_length, score=lambda logits: logits)


@beam_search.misconception
def one_state_for_all(decoder, s, beam_size, max_length):
    """All hypotheses go on from one and the same state. Each hypothesis has read other tokens, so it has a state of its
    own. When the beam is sorted, the states must move with their hypotheses."""
    return _search(decoder, s, beam_size, max_length, own_states=False)


@beam_search.misconception
def ended_hypotheses_dropped(decoder, s, beam_size, max_length):
    """Hypotheses that have ended with [STOP] are dropped from the beam. They are finished translations: keep them as
    they are, and let them compete with the others."""
    return _search(decoder, s, beam_size, max_length, ended="dropped")


@beam_search.misconception
def last_step_alone(decoder, s, beam_size, max_length):
    """Hypotheses are ranked by the log-probability of their last token alone. The score is the sum over all their
    tokens."""
    beam = [([], s.new_zeros(()), s)]
    for _ in range(max_length):
        if all(words and words[-1] == STOP for words, _, _ in beam):
            break
        candidates = []
        for words, total, state in beam:
            if words and words[-1] == STOP:
                candidates.append((words, total, state))
                continue
            logits, new = decoder(torch.tensor([words[-1] if words else START], device=s.device), state[None])
            candidates += [([*words, word], gain, new[0]) for word, gain in enumerate(logits[0].log_softmax(-1))]
        # equal states tie on every machine
        beam = sorted(candidates, key=lambda one: -round(float(one[1]), 4))[:beam_size]
    return torch.tensor(beam[0][0], device=s.device), beam[0][1]


@beam_search.misconception
def ranked_by_the_mean(decoder, s, beam_size, max_length):
    """Hypotheses are ranked by their mean log-probability, which favours long ones. This is often done, but the
    exercise asks for the plain sum."""
    return _search(decoder, s, beam_size, max_length, rank=lambda total, length: total / length)


@beam_search.misconception
def a_beam_for_each_hypothesis(decoder, s, beam_size, max_length):
    """Each hypothesis keeps its own continuations, so hypotheses do not compete with each other. The beam_size best are
    taken from all continuations of all hypotheses together."""
    logits, first = decoder(torch.tensor([START], device=s.device), s[None])
    gains = logits[0].log_softmax(-1)
    best = []
    for word in gains.topk(min(beam_size, len(gains))).indices.tolist():
        words, total, state = [word], gains[word], first
        while words[-1] != STOP and len(words) < max_length:
            logits, state = decoder(torch.tensor([words[-1]], device=s.device), state)
            step = logits[0].log_softmax(-1)
            words, total = [*words, int(step.argmax())], total + step.max()
        best.append((float(total), words, total))
    _, words, total = max(best, key=lambda one: one[0])
    return torch.tensor(words, device=s.device), total


@beam_search.misconception
def worst_of_the_beam(decoder, s, beam_size, max_length):
    """The hypothesis that is returned is not the best of the beam. Return the one with the highest Σ log p."""
    return _search(decoder, s, beam_size, max_length, place=-1)


@beam_search.misconception
def start_kept(decoder, s, beam_size, max_length):
    """The result begins with [START]. The decoder is fed [START] first, but it is not part of the translation."""
    words, total = _search(decoder, s, beam_size, max_length)
    return torch.cat([torch.tensor([START], device=s.device), words]), total


@beam_search.misconception
def stop_left_off(decoder, s, beam_size, max_length):
    """The [STOP] at the end is left out. It belongs to the result, and its log-probability belongs to the score."""
    words, total = _search(decoder, s, beam_size, max_length)
    return words[words != STOP], total


@beam_search.misconception
def score_as_a_probability(decoder, s, beam_size, max_length):
    """The score is a probability: a product of probabilities, or exp of the sum. The exercise asks for the sum of the
    log-probabilities."""
    words, total = _search(decoder, s, beam_size, max_length)
    return words, total.exp()


@beam_search.misconception
def first_to_end_wins(decoder, s, beam_size, max_length):
    """The search ends as soon as one hypothesis has ended. One that goes on may still have the higher score: stop when
    all hypotheses in the beam have ended (all, not any)."""
    return _search(
        decoder, s, beam_size, max_length, until=any, best_of=lambda beam: next(filter(_ended, beam), beam[0])
    )


@beam_search.misconception
def ended_hypotheses_moved_aside(decoder, s, beam_size, max_length):
    """Hypotheses that have ended are put aside, and others take their slots in the beam, so more than beam_size are
    followed. They stay in the beam until better ones push them out."""
    return _search(decoder, s, beam_size, max_length, ended="aside")


@beam_search.misconception
def ended_hypotheses_preferred(decoder, s, beam_size, max_length):
    """A hypothesis that has ended is returned although another one in the beam has a higher score. Return the one with
    the highest score, whether it has ended or was cut off at max_length."""
    return _search(decoder, s, beam_size, max_length, best_of=lambda beam: next(filter(_ended, beam), beam[0]))


@beam_search.misconception
def ended_hypotheses_continued(decoder, s, beam_size, max_length):
    """A hypothesis that has ended with [STOP] is continued by more tokens. It stays as it is, and only competes."""
    return _search(decoder, s, beam_size, max_length, ended="expanded", until=lambda ended: False)


_SHOWING = {  # (beam_size, max_length) of a case -> the mistakes that must show in it
    (2, 12): lambda: (one_state_for_all, greedy, a_beam_for_each_hypothesis, last_step_alone),
    (3, 14): lambda: (one_state_for_all, greedy, probabilities_added, logits_added),
    (4, 13): lambda: (greedy, a_beam_for_each_hypothesis, ended_hypotheses_dropped),
    (3, 11): lambda: (first_to_end_wins, greedy),
    (2, 15): lambda: (ended_hypotheses_moved_aside,),
    (3, CUT): lambda: (ended_hypotheses_preferred,),
    (1, 10): lambda: (),
    (8, 9): lambda: (greedy,),
}


@beam_search.alternative
def as_one_batch(decoder, s, beam_size, max_length):
    """All hypotheses of the beam are asked in one call."""
    words = torch.full((1, 1), START, device=s.device)
    totals, states, ended = s.new_zeros(1), s[None], torch.zeros(1, dtype=torch.bool, device=s.device)
    for _ in range(max_length):
        if ended.all():
            break
        logits, new = decoder(words[:, -1], states)
        gains = logits.log_softmax(dim=-1)
        V = gains.shape[-1]
        only_stop = torch.full_like(gains, -torch.inf)
        only_stop[:, STOP] = 0
        gains = torch.where(ended[:, None], only_stop, gains)
        totals, places = (totals[:, None] + gains).flatten().topk(min(beam_size, gains.numel()))
        parents, chosen = places // V, places % V
        states, words = new[parents], torch.cat([words[parents], chosen[:, None]], dim=1)
        ended = ended[parents] | (chosen == STOP)
    best = words[0, 1:]
    stops = (best == STOP).nonzero()
    return (best[: stops[0, 0] + 1] if len(stops) else best), totals[0]


@beam_search.alternative
def with_a_heap(decoder, s, beam_size, max_length):
    import heapq

    beam = [(0.0, (), s, s.new_zeros(()))]
    while True:
        going = [one for one in beam if not (one[1] and one[1][-1] == STOP) and len(one[1]) < max_length]
        if not going:
            break
        pool = [one for one in beam if one[1] and one[1][-1] == STOP]
        for _, words, state, total in going:
            logits, new = decoder(torch.tensor([(START, *words)[-1]], device=s.device), state.unsqueeze(0))
            for word, gain in enumerate(torch.log_softmax(logits.squeeze(0), 0)):
                pool.append((float(total + gain), (*words, word), new.squeeze(0), total + gain))
        beam = heapq.nlargest(beam_size, pool, key=lambda one: one[0])
    best = max(beam, key=lambda one: one[0])
    return torch.tensor(best[1], device=s.device), best[3]


@beam_search.alternative
def score_from_the_product(decoder, s, beam_size, max_length):
    """The tokens are searched for, and their score is computed again at the end."""
    words, _ = _search(decoder, s, beam_size, max_length)
    y, total, state = torch.tensor([START], device=s.device), s.new_zeros(()), s[None]
    for word in words:
        logits, state = decoder(y, state)
        total, y = total + logits[0].softmax(-1)[word].log(), word[None]
    return words, total
