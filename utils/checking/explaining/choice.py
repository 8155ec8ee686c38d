"""Looks for what is behind failures: a misconception that explains them, or a relation that they have in common."""

from dataclasses import replace

from utils.checking.explaining.circumstances import has_large_numbers, where
from utils.checking.explaining.facts import Facts, common, mostly
from utils.checking.explaining.traits import KINDS as TRAITS
from utils.checking.judging.verdict import Verdict
from utils.checking.messages import composing
from utils.checking.records import FrozenExercise

COMPARED = ("wrong_value", "not_finite", "not_quite_zero")  # problems of numbers that have the right shape and type
OPEN = ("which", "other scores")  # facts that end in a question about everything there is
UNLIKE = (  # problems that are no case's own
    "unfinished",
    "missing_object",
    "forbidden_call",
    "wrong_signature",
    "wrong_parameters",
    "process_ended",
    "too_large",  # measured on some cases alone
    "too_much",
    "too_much_kept",
)
MAGNITUDES = {"large", "saturation", "spread", "scale"}  # conditions under which numbers are large
UNUSUAL = MAGNITUDES - {"scale"}  # those of them under which no number is an ordinary one
COLLATERAL = (
    "float64",
    "spread",
)  # conditions under which what is wrong elsewhere shows too, through finer tolerances
CALLS = "calls"  # the condition under which arguments come by position, or by name
GRADIENTS = "gradients"  # the condition under which gradients are seen
OF_GRADIENTS = ("wrong_gradient", "no_gradient", "no_graph", "backward_failed")  # problems where results are right
PLACES = ("wrong at", "right at", "stretch")  # kinds of facts about positions
UNIVERSAL = (
    ("side",),
    ("ratio",),
    ("one value",),
    ("shape", "fixed"),
    ("shape", "count"),
)  # facts about each input or number
OF_ALL = "whatever"  # in a sentence that speaks of all that an argument may be
OF_AN_ARGUMENT = (
    " is True",
    " is False",
    " is None",
)  # so end the words for circumstances that are an argument's value
STARTS = ("from the start", "after a start")  # and about steps
SHORT = 3  # positions along an axis before anything is told of its first or last


def diagnose(exercise: FrozenExercise, verdicts: list, failed: list) -> tuple:
    """The misconception behind what failed, or None, and the verdict to show.

    What is written comes before what is not written yet. Best is a misconception that explains every failure; else one that
    explains all failures of the part that is shown and fails nowhere else, since each part may have a mistake of its own; or one
    that explains all failures where these are just the cases with an argument of some value, which is told with it.
    """
    forbidden = next((one for one in failed if one.problem == "forbidden_call"), None)
    if forbidden:
        return None, forbidden
    written = [one for one in failed if one.problem != "unfinished"]
    written.sort(key=lambda one: one.condition in COLLATERAL and one.problem in COMPARED)
    if not written:
        return None, failed[0]
    shown = written[0]
    if all(one.problem in OF_GRADIENTS for one in written):  # which other conditions show by the way
        shown = next((one for one in written if one.condition == GRADIENTS), shown)
    here, elsewhere = ([one for one in verdicts if (one.part == shown.part) == own] for own in (True, False))
    alone = _explanation(exercise, here, [one for one in written if one in here])
    universal = alone and (alone in exercise.invented or OF_ALL in exercise.misconceptions[alone])
    if alone and any(_belies(one, alone, universal) for one in elsewhere):
        alone = None
    shown = replace(shown, undefined=any(one.undefined for one in verdicts))
    found = _explanation(exercise, verdicts, written) or alone
    circumstance = "" if found else _circumstance(shown, verdicts)
    if not circumstance.endswith(OF_AN_ARGUMENT):
        return found, shown
    return _explanation(exercise, written, written), replace(shown, where=circumstance)


def _belies(one: Verdict, name: str, universal: bool) -> bool:
    """Whether a case of another part shows that a misconception is none or, if it is told of every result, not of this one."""
    if name not in one.compared or name in one.matches:
        return False
    return one.passed or universal and name not in one.silent  # where it fails too, it may have a mistake of its own


def related(exercise: FrozenExercise, shown: Verdict, verdicts: list) -> tuple[Verdict, str | None]:
    """The verdict that is shown with what all failures of its kind have in common, and the name of that; else as it is.

    What fails under a condition or a circumstance alone is told by it, before what was found about its numbers.
    """
    failed = [one for one in verdicts if not one.passed]
    alike = _alike(shown, verdicts)
    shown = next((one for one in alike if one.property == shown.property), alike[0])
    if all(_by_call_alone(one, shown) for one in failed):
        return replace(shown, sentence=composing.called(exercise, shown.case.by)), f"called by {shown.case.by}"
    hint, where_alone = _where_it_fails(shown, verdicts, failed)
    if set(where_alone) - {"only here"}:  # which names the cause: what any look shows would lead away from it
        alike = [replace(one, facts=_without(one.facts, TRAITS)) for one in alike]
    told, names = _in_common(shown, alike, verdicts)
    return replace(shown, sentence=composing.related(shown, told, hint)), ", ".join(names + where_alone) or None


def _alike(shown: Verdict, verdicts: list) -> list[Verdict]:
    """The failures of the kind that is shown, on ordinary inputs or under its own condition, with the facts that hold of them."""
    alike = [one for one in verdicts if _kind(one) == _kind(shown) and one.part == shown.part]
    ordinary = [one for one in alike if not one.condition and not one.extreme]
    alike = ordinary or [one for one in alike if (one.condition, one.extreme) == (shown.condition, shown.extreme)]
    shown = shown if shown in alike else alike[0]
    if shown.extreme or shown.condition in MAGNITUDES:  # where cases share one set of numbers, places are accidents
        alike = [replace(one, facts=_without(one.facts, PLACES + STARTS)) for one in alike]
    return [replace(one, facts=_held(one.facts, shown, verdicts)) for one in alike]


def _in_common(shown: Verdict, alike: list, verdicts: list) -> tuple[list[str], list[str]]:
    """The sentences on what failures have in common, and the names of these facts."""
    different = len({tuple(one.case.given_sizes.items()) if one.case else id(one) for one in alike})
    plain = [_without(one.facts, TRAITS) for one in alike]
    keys = common(plain, different=different)
    told, names = [shown.facts[key] for key in keys], [" ".join(map(str, key)) for key in keys]
    if not all(key[0] in OPEN for key in keys):
        return told, names
    influence = _by_influence(shown, verdicts)  # open facts tell where to look, and not for what
    if influence and not told and shown.problem != "not_finite":  # which stays as it is
        told = [shown.sentence.partition("\n")[0]]  # that numbers are wrong, before what gradients show
    more = influence or _by_most(_without(shown.facts, TRAITS), plain, keys)
    if not more and shown.problem in COMPARED:
        found = [{key: one.facts[key] for key in one.facts if key[0] in TRAITS} for one in alike]
        traits = common(found, different=different)
        more, names = [shown.facts[key] for key in traits], names + [" ".join(map(str, key)) for key in traits]
        return told + more, names
    return told + more, names + ["more"] * bool(more)


def _where_it_fails(shown: Verdict, verdicts: list, failed: list) -> tuple[str, list[str]]:
    """The words for a condition or a circumstance under which alone code fails, and the names of these.

    What is wrong by little may pass elsewhere because it is within tolerance there: then only the size of numbers is told.
    """
    if shown.problem == "not_quite_zero":  # what is merely small elsewhere may pass there
        return "", []
    by_luck = any(key[0] == "close" for key in shown.facts) and any(one.near for one in verdicts)
    under = _under(shown, verdicts)
    if by_luck:
        under = under if under in MAGNITUDES else ""
        return composing.hint(under, near_enough=True), [f"under {under}"] * bool(under)
    circumstance = _circumstance(shown, verdicts)
    only = not under and len({one.property for one in failed}) == 1 and len(verdicts) > len(failed) + 3
    names = [f"under {under}"] * bool(under) + ["only here"] * only + [f"where {circumstance}"] * bool(circumstance)
    if circumstance:
        under, only = "", False
    return composing.hint(under, circumstance, only, shown.problem in OF_GRADIENTS), names


def _by_call_alone(one: Verdict, shown: Verdict) -> bool:
    """Whether code took its arguments and fails where they come in one of the two ways."""
    alone = one.condition == CALLS and bool(one.case.by) and one.case.by == shown.case.by  # not where defaults are left
    return alone and one.problem != "wrong_signature"


def _held(facts: dict, shown: Verdict, verdicts: list) -> dict:
    """Facts without those that another case of the part belies.

    Of facts about places along an axis that is one that fails in another way, whatever its condition, or an ordinary one that is
    right at all places; of those that speak of each input, or of each number, any that fails without showing them.
    """
    own = [one for one in verdicts if one.part == shown.part and one.case is not None and not one.extreme]
    others = [one for one in own if one.problem in COMPARED or one.passed and not one.condition and not one.near]
    failed = [one for one in verdicts if one.part == shown.part and _kind(one) == _kind(shown)]

    def belied(key: tuple) -> bool:
        if key[0] in PLACES:
            long = [one for one in others if one.case.sizes.get(key[2], 0 if one.passed else SHORT) >= SHORT]
            return any(key not in one.facts for one in long)
        return key[: 1 + (key[0] == "shape")] in UNIVERSAL and any(key not in one.facts for one in failed)

    return {key: text for key, text in facts.items() if not belied(key)}


def _kind(one: Verdict) -> tuple:
    """The problems that are of one kind with a verdict's own."""
    return COMPARED if one.problem in COMPARED else (one.problem,)


def _by_influence(shown: Verdict, verdicts: list) -> list[str]:
    """What a wrong result depends on and should not, or the other way round, where gradients were seen."""
    if shown.problem not in COMPARED or shown.condition or shown.extreme:
        return []
    seen = [
        one for one in verdicts if one.part == shown.part and one.condition == GRADIENTS and one.problem in COMPARED
    ]
    facts = [{key: text for key, text in one.facts.items() if key[0].startswith("influence")} for one in seen]
    return [f"In the case “{seen[0].property}”: {facts[0][key]}" for key in common(facts)]


def _by_most(shown: Facts, each: list, known: list) -> list[str]:
    """What most wrong results have in common, told as that."""
    keys = [key for key in mostly(each, shown) if key not in known]
    return [f"On most of the inputs on which it fails: {shown[key]}" for key in keys]


def _without(facts: dict, kinds: tuple) -> dict:
    return {key: text for key, text in facts.items() if key[0] not in kinds}


def _under(shown: Verdict, verdicts: list) -> str:
    """The condition under which alone anything fails; empty if ordinary inputs fail too, or what else fails belies its words."""
    failed = [one for one in verdicts if not one.passed]
    large = any(map(_is_large_alone, failed))  # in another type, layout or size too, if not there alone
    under = {"large" if large and _is_large(one) else one.condition for one in failed}
    if under & {"", "edge"}:
        return ""
    if "large" in under and under <= UNUSUAL:
        return "large"
    others = under - {shown.condition}
    return "" if others - set(COLLATERAL) else shown.condition


def _is_large(one: Verdict) -> bool:
    """Whether a case is extreme, and is so by the size of its numbers."""
    return one.extreme and (one.case is None or has_large_numbers(one.case))


def _is_large_alone(one: Verdict) -> bool:
    """Whether the size of its numbers is all that is unusual about a case."""
    usual = one.condition in ("", "edge", *MAGNITUDES) and not (one.case and one.case.precision)
    return usual and _is_large(one)


def _circumstance(shown: Verdict, verdicts: list) -> str:
    """What is true of all inputs on which code fails and of none on which it passes; sought where it can be about inputs."""
    if shown.problem in UNLIKE:
        return ""
    known = [one for one in verdicts if one.case is not None and not one.case.elsewhere]
    failed, passed = ([one.case for one in known if one.passed == good] for good in (False, True))
    return where(failed, passed)


def _explanation(exercise: FrozenExercise, verdicts: list, failed: list) -> str | None:
    """The misconception that predicts all of what failed, and all plain cases that passed; None if there is none.

    Under conditions, where it may show by other sizes, or by a finer tolerance, it may fail where the code passes, but not more
    often than it explains. What nobody declared predicts all that it was held against, and explains no NaN. Of several it is one
    that was declared, and that is right most often.
    """

    def explains(name: str) -> bool:
        known = [one for one in failed if name in one.compared]
        return bool(known) and all(name in one.matches for one in known)

    def holds(name: str) -> bool:
        invented, own = name in exercise.invented, [one for one in failed if name in one.matches]
        sure = any(one.problem != "not_finite" for one in own)  # NaN is like NaN whatever made it
        belied = [one for one in verdicts if one.passed and name in one.compared and name not in one.matches]
        if not belied:
            return sure or not invented
        return sure and not invented and not any(_is_plain(one) for one in belied) and len(belied) <= len(own)

    def right(name: str) -> int:
        return sum((name in one.matches) - (name in one.compared and name not in one.matches) for one in verdicts)

    candidates = [name for name in exercise.misconceptions if explains(name) and holds(name)]
    return min(candidates, key=lambda name: (name in exercise.invented, -right(name)), default=None)


def _is_plain(one: Verdict) -> bool:
    return one.case is None or one.case.plain
