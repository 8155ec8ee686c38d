"""Results that were written by something else than the kit are told in a sentence."""

import pytest
from conftest import UNIT

from autograder import settings
from autograder.gradebook import store


@pytest.mark.parametrize("line", ['{"student": "a"}', "[]", "3", "no JSON", "[" * 100_000])
def test_a_foreign_line_among_results_is_told(line, tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_CLASS", str(tmp_path))
    file = store.results_file(UNIT)
    file.parent.mkdir(parents=True)
    file.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(settings.KitError, match="is damaged: run `python -m autograder grade"):
        store.load_results(UNIT)
