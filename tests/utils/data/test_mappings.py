"""The documents of mappings: they follow their tables and names, they can be read back, and the same seed gives the same ones."""

import pytest
import torch

from utils.data import mappings
from utils.data.mappings import FIRST_NAME, FIRST_VALUE, NAMES, NO_NAME, TOKENS, UNUSED_NAME


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def named():
    return mappings.tables(len(NAMES), generator=seeded(1))


@pytest.fixture(scope="module")
def mixed(named):
    return mappings.mixture(named, 2000, generator=seeded(2))


def test_every_value_is_the_one_that_the_table_gives_to_the_key_before_it(named):
    names = torch.arange(FIRST_NAME, FIRST_NAME + len(NAMES))
    made = mappings.documents(names, named, pairs=16, generator=seeded())
    assert made.shape == (16, 33) and (made[:, 0] == names).all()
    assert (named.gather(1, made[:, 1::2]) == made[:, 2::2]).all()


def test_keys_values_and_names_are_different_tokens_at_their_places(mixed):
    assert (mixed[:, 1::2] < FIRST_VALUE).all()
    assert ((mixed[:, 2::2] >= FIRST_VALUE) & (mixed[:, 2::2] < FIRST_NAME)).all()
    assert (mixed[:, 0] >= FIRST_NAME).all() and (mixed[:, 0] != UNUSED_NAME).all()
    assert len(set(TOKENS)) == len(TOKENS) == 34


def test_a_document_with_a_name_follows_the_table_of_that_name(named, mixed):
    own = mixed[mixed[:, 0] != NO_NAME]
    assert (named[own[:, 0] - FIRST_NAME].gather(1, own[:, 1::2]) == own[:, 2::2]).all()
    assert len(own[:, 0].unique()) == len(NAMES)


def test_a_document_without_a_name_has_a_table_of_its_own(mixed):
    free = mixed[mixed[:, 0] == NO_NAME]
    x, y = free[:, 1::2], free[:, 2::2]
    same_key = x[:, :, None] == x[:, None, :]
    assert (y[:, :, None] == y[:, None, :])[same_key].all(), "one table within a document"
    values_of_a = y[x == 0].bincount(minlength=FIRST_NAME)[FIRST_VALUE:] / (x == 0).sum()
    assert (values_of_a - 1 / 8).abs().max() < 0.03, "and any value for a key across documents"


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_share_is_how_many_documents_have_a_name(named, share):
    made = mappings.mixture(named, 4000, share=share, generator=seeded())
    assert (made[:, 0] != NO_NAME).float().mean().item() == pytest.approx(share, abs=0.03)


def test_the_same_seed_gives_the_same_documents_and_another_gives_others(named, mixed):
    assert torch.equal(mappings.mixture(named, 2000, generator=seeded(2)), mixed)
    assert not torch.equal(mappings.mixture(named, 2000, generator=seeded(3)), mixed)


def test_batches_are_new_documents_each_time(named):
    endless = mappings.batches(named, 8, pairs=4, generator=seeded())
    first, second = next(endless), next(endless)
    assert first.shape == second.shape == (8, 9) and not torch.equal(first, second)


def test_text_and_ids_are_inverse_also_for_a_prompt_that_ends_with_a_key(mixed):
    for document in [*mixed[:20], *mixed[:20, :-1], mixed[0, :1]]:
        assert torch.equal(mappings.ids(mappings.text(document)), document)
    assert mappings.text(mappings.ids("? c5 a2 c")) == "? c5 a2 c"


@pytest.mark.parametrize("line, strange", [("? c5 i2", "i"), ("T99 c5", "T99"), ("", "")])
def test_what_is_no_token_is_refused_by_name(line, strange):
    with pytest.raises(ValueError, match=f"'{strange}' is no token"):
        mappings.ids(line)


def test_names_and_tables_have_to_be_as_many(named):
    with pytest.raises(ValueError, match="2 names and 16 tables"):
        mappings.documents(torch.tensor([NO_NAME, NO_NAME]), named, pairs=3, generator=seeded())
