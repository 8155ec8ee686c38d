"""Terms of the glossary stand out where a lesson introduces them, and words of our own do not stand for the field's."""

import re

import pytest

from autograder import settings

GLOSSARY = (settings.ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
TERMS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in GLOSSARY.split("## Terms")[1].splitlines()[4:]
    if line
]
OURS = (  # words that stood for terms of the field, and the terms
    ("what has been computed once", "KV cache"),
    ("a look at the words", "attention"),
    ("turning queries and keys", "rotary position embedding"),
    ("waves of different length", "sinusoidal positional encoding"),
    ("guesses evenly", "gives every token the same probability"),
)


def prose(unit: str) -> str:
    twin = next(settings.LESSON_TWINS.glob(f"{unit}_*.py")).read_text(encoding="utf-8")
    return "\n".join(line[2:] for line in twin.splitlines() if line.startswith("#") and not line.startswith("# %%"))


def test_the_glossary_has_one_line_for_each_term_in_order():
    names = [term.casefold() for term, _, _ in TERMS]
    assert len(names) > 50 and names == sorted(names) and len(set(names)) == len(names)
    assert all(len(meaning.split()) <= 30 for _, meaning, _ in TERMS)


@pytest.mark.parametrize(("term", "unit"), [(term, unit) for term, _, unit in TERMS])
def test_a_term_stands_in_bold_or_in_a_heading_where_it_is_introduced(term, unit):
    text = prose(unit)
    standing_out = re.findall(r"\*\*(.+?)\*\*", text.replace("\n", " ")) + re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    assert re.sub(r"\s*\(.*\)", "", term).casefold() in " ".join(standing_out).casefold()


@pytest.mark.parametrize("twin", sorted(settings.LESSON_TWINS.glob("*.py")), ids=lambda path: path.stem)
def test_words_of_our_own_do_not_occur(twin):
    text = " ".join(line for line in prose(twin.stem[:2]).splitlines() if not line.startswith("#")).casefold()
    assert not [ours for ours, _ in OURS if ours in text]


@pytest.mark.parametrize("twin", sorted(settings.LESSON_TWINS.glob("*.py")), ids=lambda twin: twin.stem[:2])
def test_no_mark_of_a_cell_stands_in_the_middle_of_prose(twin):
    lines = twin.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("# ") and "%% [markdown]" in line[4:]] == []
