"""Due dates, extensions, grace, late days and penalties are what the instructor's small file says."""

from datetime import UTC, datetime, timedelta

import pytest

from autograder import settings
from autograder.gradebook.deadlines import Penalty, deadlines

DAY, HOUR = 86400, 3600
RULES = """
timezone = "UTC"
grace = "15 minutes"
late_days = 2
penalty = "10% a day"
at_most = "50%"

[due]
04 = 2026-03-06T18:00:00
09 = "2026-04-17 18:00"

[extensions.ada]
04 = "3 days"
09 = 2026-04-20T18:00:00
"""
FOUR, NINE = "04_attention_layer", "09_transformer_block"


@pytest.fixture
def rules(class_folder):
    def written(text):
        class_folder.mkdir(exist_ok=True)
        (class_folder / "deadlines.toml").write_text(text)
        return deadlines()

    return written


@pytest.fixture
def hand_in(class_folder):
    def at(student, unit, time):
        folder = class_folder / "submitted" / student / unit
        folder.mkdir(parents=True)
        (folder / "timestamp.txt").write_text(f"{time} UTC\n")

    return at


def test_without_a_file_there_are_no_rules(class_folder):
    assert deadlines() is None


def test_what_the_file_says(rules):
    found = rules(RULES)
    assert found.due == {FOUR: datetime(2026, 3, 6, 18), NINE: datetime(2026, 4, 17, 18)}
    assert found.extensions == {"ada": {FOUR: timedelta(days=3), NINE: timedelta(days=3)}}
    assert found.granted("ada", FOUR) == timedelta(days=3, minutes=15) and found.granted("bob", FOUR) == found.grace


def test_an_extension_finds_its_student_by_number_login_or_address(rules, class_folder):
    class_folder.mkdir(exist_ok=True)
    (class_folder / "roster.csv").write_text("id,name,email,also\nada.l,Ada,a@u.edu,s17 4242\nbob,Bob,b@u.edu,s18\n")
    for name in ('"ada.l"', "s17", "4242", '"A@u.edu"'):
        assert rules(f'[extensions.{name}]\n04 = "2 days"').extensions == {"ada.l": {FOUR: timedelta(days=2)}}
    with pytest.raises(settings.KitError, match=r'quotation marks: \[extensions."ada.l"\]'):
        rules('[extensions.ada.l]\n04 = "1 day"')
    with pytest.raises(settings.KitError, match="nobody in the class has this id"):
        rules('[extensions.s19]\n04 = "3 days"')


def test_a_due_date_is_in_the_classs_own_time(rules):
    assert rules('timezone = "Europe/Rome"\n[due]\n04 = 2026-03-06T18:00:00').due[FOUR] == datetime(2026, 3, 6, 17)
    assert rules("[due]\n04 = 2026-03-06T18:00:00+02:00").due[FOUR] == datetime(2026, 3, 6, 16)
    here = datetime(2026, 3, 6, 18).astimezone().astimezone(UTC).replace(tzinfo=None)
    assert rules("[due]\n04 = 2026-03-06T18:00:00").due[FOUR] == here


def test_late_days_are_used_in_the_order_of_the_due_dates_and_never_twice(rules, hand_in):
    found = rules(RULES)
    hand_in("bob", NINE, "2026-04-19 17:00:00")  # two days late by the calendar
    assert found.late_days_used("bob") == {FOUR: 0, NINE: 2}
    hand_in("bob", FOUR, "2026-03-06 18:20:00")  # five minutes beyond grace
    assert found.late_days_used("bob") == {FOUR: 1, NINE: 1}
    assert found.granted("bob", NINE) == timedelta(days=1, minutes=15)
    hand_in("ada", FOUR, "2026-03-09 18:10:00")  # within extension and grace
    assert found.late_days_used("ada")[FOUR] == 0


@pytest.mark.parametrize(
    ("rule", "score", "seconds", "cost"),
    [
        (Penalty(), 20, 9 * DAY, 0),
        (Penalty(share=0.1, period=timedelta(days=1), most_share=0.5), 20, 1, 2),
        (Penalty(share=0.1, period=timedelta(days=1), most_share=0.5), 20, DAY + 1, 4),
        (Penalty(share=0.1, period=timedelta(days=1), most_share=0.5), 20, 30 * DAY, 10),
        (Penalty(points=3, period=timedelta(hours=1)), 5, 2 * HOUR, 5),
        (Penalty(points=3, period=timedelta(hours=1), most_points=4), 20, 5 * HOUR, 4),
        (Penalty(share=0.5), 20, 99 * DAY, 10),
        (Penalty(share=0.5), 20, 0, 0),
    ],
)
def test_what_lateness_costs(rule, score, seconds, cost):
    assert rule.of(score, seconds) == cost


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("nonsense", "cannot be read"),
        ("deu = 1", "'deu' is not known"),
        ('timezone = "Mars/Base"', "Mars/Base"),
        ('grace = "soon"', "grace: 'soon'"),
        ("late_days = -1", "late_days is a whole number"),
        ('penalty = "harsh"', "penalty: 'harsh'"),
        ('penalty = "10% a day"\nat_most = "all"', "at_most"),
        ("[due]\n99 = 2026-03-06T18:00:00", "no unit is called '99'"),
        ('[due]\n04 = "Friday"', "due.04: 'Friday' is no time"),
        ("[extensions.ada]\n04 = 2026-03-06T18:00:00", "has no due date"),
        ('[extensions.ada]\n04 = "a bit"', "extensions.ada.04"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_place(rules, text, word):
    with pytest.raises(settings.KitError, match="deadlines.toml") as told:
        rules(text)
    assert word in str(told.value)
