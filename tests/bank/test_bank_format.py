"""The bank's answers that are changes of others: they are what is written out, with their edits, and errors say which."""

import inspect
import linecache
import re

import answers
import pytest
from answers import BANK, answers_to

BASES = """
from answers import after, before, change, right, wrong


@right("in two lines")
def halved(x, times):
    half = x / 2
    return half if times == 1 else halved(half, times - 1)


class _Base:
    def first(self, x):
        return x + 1

    def both(self, x):
        return self.first(x), x


"""


@pytest.fixture
def bank(tmp_path, monkeypatch):
    """bank(changes) -> the answers of an exercise whose file has BASES and these changes."""

    def load(changes: str) -> list[answers.Answer]:
        (tmp_path / "sample.py").write_text(BASES + changes, encoding="utf-8")
        answers._definitions.cache_clear()
        return answers_to("sample")

    monkeypatch.setattr(answers, "BANK", tmp_path)
    yield load
    answers._definitions.cache_clear()


def changed(bank, edits: str):
    return bank(f'change(halved, "made", "a mistake", "concept", {edits})')[-1]


def test_a_change_is_the_base_with_other_text_under_another_name(bank):
    made = changed(bank, '("x / 2", "x / 3")')
    assert (made.verdict, made.name, made.words, made.kind) == ("wrong", "made", "a mistake", "concept")
    assert made.object(9.0, 2) == 1
    lines = ["def made(x, times):", "half = x / 3", "return half if times == 1 else made(half, times - 1)"]
    assert [line.strip() for line in inspect.getsource(made.object).splitlines()] == lines


def test_lines_are_added_before_and_after_others_with_their_margin(bank):
    made = changed(bank, 'before("return", "if half > 1:\\n    half = 1"), after("x / 2", "times = 1")')
    lines = ["half = x / 2", "times = 1", "if half > 1:", "    half = 1", "return half"]
    assert inspect.getsource(made.object).splitlines()[1:5] == ["    " + line for line in lines[:4]]
    assert made.object(8, 2) == 1


def test_a_block_of_lines_stands_for_another_and_a_line_without_new_text_is_gone(bank):
    block = '''("""
        half = x / 2
        return half if times == 1 else halved(half, times - 1)""", """
        for _ in range(times):
            x = x / 2
        return x""")'''
    assert changed(bank, block).object(8, 3) == 1
    gone = changed(bank, '("half = x / 2", ""), ("half if times == 1 else halved(half, times - 1)", "x")')
    assert inspect.getsource(gone.object) == "def made(x, times):\n    return x\n"


def test_text_that_occurs_so_often_as_is_said_is_replaced_everywhere(bank):
    assert changed(bank, '("half", "third", 3), ("x / 2", "x / 3")').object(3, 1) == 1


def test_a_changed_method_is_all_that_a_subclass_has(bank):
    made = bank('change(_Base.first, "Two", "two", "concept", ("+ 1", "+ 2"), verdict="open")')[-1]
    assert made.verdict == "open" and made.object().both(1) == (3, 1)
    assert list(vars(made.object)) == ["__module__", "first", "__doc__"]
    assert inspect.getsource(made.object.first).strip() == "def first(self, x):\n        return x + 2"


def test_the_line_of_an_error_can_be_quoted(bank):
    with pytest.raises(ZeroDivisionError) as raised:
        changed(bank, '("x / 2", "x / 0")').object(1, 1)
    code = raised.traceback[-1].frame.code.raw
    assert linecache.getline(code.co_filename, raised.traceback[-1].lineno + 1).strip() == "half = x / 0"


@pytest.mark.parametrize(
    "edits, words",
    [
        ('("x / 5", "x")', "'x / 5' occurs 0 times, not 1"),
        ('("half", "x")', "'half' occurs 3 times, not 1"),
        ('("x / 2", "x"), ("half = x", "half = 2 * x")', "two edits meet"),
    ],
)
def test_an_edit_that_does_not_fit_says_which(bank, edits, words):
    with pytest.raises(AssertionError, match=re.escape(words)):
        changed(bank, edits)


def test_no_change_is_a_base(bank):
    with pytest.raises(AssertionError, match="one is not written out in sample.py"):
        bank(
            'change(halved, "one", "", "concept", ("x / 2", "x"))\nchange(one, "two", "", "concept", ("half = x", "x"))'
        )


def test_no_two_answers_of_an_exercise_have_one_name():
    for file in BANK.glob("*.py"):
        names = [one.name for one in answers_to(file.stem)]
        assert len(names) == len(set(names)), file.stem
