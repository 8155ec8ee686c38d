"""What lessons measure and read with: memory at its worst moment, and tales whose answers are known."""

import random

import torch

from utils.data import pronoun_tales
from utils.measures.memory import peak_memory


def test_the_peak_counts_what_is_there_at_one_time_and_not_what_came_and_went():
    thousand = torch.ones(250_000)  # 1,000,000 bytes, there before
    assert 0 <= peak_memory(lambda: thousand + 1) - 1_000_000 < 100  # and the number 1
    # the first sum is still there while the second is made
    assert 0 <= peak_memory(lambda: (thousand + 1) + 1) - 2_000_000 < 100

    def again_and_again():
        for _ in range(5):
            total = (thousand + 1).sum()
        return total

    assert 1_000_000 <= peak_memory(again_and_again) < 1_001_000
    assert peak_memory(lambda: None) == 0


def test_the_peak_sees_what_a_function_of_torch_makes_inside():
    Q = torch.ones(1, 512, 16)
    table = 512 * 512 * 4
    # three axes: with the table
    assert peak_memory(lambda: torch.nn.functional.scaled_dot_product_attention(Q, Q, Q)) > table
    assert peak_memory(lambda: torch.nn.functional.scaled_dot_product_attention(Q[None], Q[None], Q[None])) < table


def test_measuring_writes_nothing(capfd):
    peak_memory(lambda: torch.ones(3))
    assert capfd.readouterr() == ("", "")


def test_a_tale_can_be_answered_from_its_pronoun():
    kind = {noun: pronoun for pronoun, nouns in pronoun_tales.KINDS.items() for noun in nouns}
    rng = random.Random(0)
    openings = set()
    for _ in range(300):
        tale = pronoun_tales.tale(rng)
        main = [word for word in tale.words if word in kind and word != tale.what]
        assert len(tale.words) == pronoun_tales.LENGTH and len(main) == 2
        assert [noun for noun in main if kind[noun] == tale.words[tale.pronoun]] == [tale.who]
        assert tale.words[tale.disguise] == tale.what not in main
        openings.add(tale.words[0])
    assert openings == {"the", "because"}


def test_tales_become_numbers_that_lead_back_to_their_words():
    tales = [pronoun_tales.tale(random.Random(seed)) for seed in range(8)]
    words, places, answers = pronoun_tales.batch(tales)
    assert words.shape == (8, pronoun_tales.LENGTH) and places.shape == answers.shape == (8, 2)
    for n, tale in enumerate(tales):
        assert tuple(pronoun_tales.WORDS[word] for word in words[n]) == tale.words
        assert [pronoun_tales.NOUNS[noun] for noun in answers[n]] == [tale.who, tale.what]
        assert [tale.words[place] for place in places[n]] == [tale.words[tale.pronoun], tale.what]
