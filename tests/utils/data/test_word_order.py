"""The two tasks of lesson 15: the same words in two orders, rows that fit the model, and a translator that learns."""

import pytest
import torch

from utils.data import word_order
from utils.data.translation import PAD, STOP, Pair, lecture, vocabulary
from utils.models.translator import Translator, exact, fit, loss


@pytest.fixture(scope="module")
def pairs():
    return word_order.sentences(400, seed=5)


def test_both_tasks_use_the_same_words(pairs):
    for pair in pairs:
        assert sorted(word_order.in_english_order(pair)) == sorted(pair.target)


def test_the_words_follow_the_english_order(pairs):
    for pair in pairs:
        first = {}
        for j, i in sorted(pair.sure):
            first.setdefault(j, i)
        if len(first) == len(pair.target) == len(set(pair.target)):  # each word translates one, and none comes twice
            ordered = [first[pair.target.index(word)] for word in word_order.in_english_order(pair)]
            assert ordered == sorted(ordered)


def test_adjectives_go_back_before_their_noun():
    words = " ".join(word_order.in_english_order(lecture("agreement", "french")))
    assert "européenne économique zone" in words


def test_a_word_without_a_partner_stays_before_the_next_that_has_one():
    links = frozenset({(0, 1), (2, 0)})
    pair = Pair(("a", "b"), ("x", "y", "z"), links, links)
    assert word_order.in_english_order(pair) == ("y", "z", "x")


def test_only_pairs_whose_order_changes_are_kept(pairs):
    kept = word_order.differing(pairs)
    assert 0.3 * len(pairs) < len(kept) < len(pairs)
    assert all(word_order.in_english_order(pair) != pair.target for pair in kept)


def test_a_row_holds_the_english_part_then_the_french_one(pairs):
    rows = word_order.tokens(pairs)
    assert rows.shape[0] == len(pairs) and rows.max() < word_order.size()
    offset = len(vocabulary("english"))
    for row, pair in zip(rows.tolist(), pairs):
        before, behind = row[: word_order.S], row[word_order.S :]
        assert before[-1] == STOP and before[: word_order.S - len(pair.source) - 1] == [PAD] * (
            word_order.S - len(pair.source) - 1
        )
        assert behind[len(pair.target)] == offset + STOP and set(behind[len(pair.target) + 1 :]) <= {PAD}
        assert word_order.words(row) == [*pair.source, *pair.target]


def test_the_second_task_changes_the_french_part_alone(pairs):
    first, second = word_order.tokens(pairs), word_order.tokens(pairs, english_order=True)
    assert torch.equal(first[:, : word_order.S], second[:, : word_order.S])
    assert torch.equal(first.sort(dim=1).values, second.sort(dim=1).values) and not torch.equal(first, second)


def test_a_sentence_that_is_too_long_is_refused():
    with pytest.raises(ValueError, match="there is room for 7"):
        word_order.tokens([lecture("agreement", "french")])


def test_no_token_sees_the_ones_behind_it(pairs):
    torch.manual_seed(0)
    model, rows = Translator(), word_order.tokens(pairs[:4])
    changed = rows.clone()
    changed[:, 9:] = 3
    assert torch.equal(model(rows)[:, :9], model(changed)[:, :9])


def test_the_translator_learns_a_few_sentences_by_heart_and_exact_notices(pairs):
    torch.manual_seed(0)
    model, rows = Translator(), word_order.tokens(pairs[:8])
    assert exact(model, rows) == 0
    fit(model, rows, steps=60, rate=3e-3, seed=0, what="a test")
    assert exact(model, rows) == 1 and loss(model, rows) < 0.1
    wrong = rows.clone()
    wrong[0, word_order.S] += 1
    assert exact(model, wrong) == 7 / 8
