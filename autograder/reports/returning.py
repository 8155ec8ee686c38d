"""Misconceptions that come back: the same one, or others of its family, in several units of a course."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autograder.bank import catalogue
from autograder.gradebook.outcomes import Record

# What one explanation would mend, by the names that the mistakes have; a mistake of no family is one by itself.
_FAMILIES = {
    "the scale of the scores": r"not_scaled|scaled_.*|divided_by_(the_)?root.*|multiplied_by_the_root|.* (times|over) √\S+",
    "the axis of the softmax": r"softmax_over_.*|over_axis_one|over_the_first_axis|along_the_first_axis",
    "a softmax too many": r"softmax_(twice|again|once_more)|softmax_of_(probabilities|the_logits)",
    "the mask turned round": r"mask_(turned_round|the_wrong_way_round|transposed).*|.* inverted",
    "the mask after the softmax": r"(hidden|zeroed|multiplied|cut)_after_the_softmax|mask_added_as_numbers|scores_set_to_zero.*",
    "padding that counts": r"padding_(counted|seen)|zeros_counted|divided_by_(all|every)_(places|positions?|(real_)?tokens)",
    "tokens that see the future": r"future_not_hidden|nothing_hidden|sees_the_answer",
    "a reshape where axes are exchanged": r"(split|merged|split_and_merged)_without_exchange|no_axis_for_the_heads"
    r"|thirds_inside_each_head|features_take_turns|reshaped_.*|.*_by_(a|one)_reshape",
    "transposed matrices": r"(not_)?transposed|.*_(not_)?transposed|(filled_)?column_by_column|first_two_axes_swapped",
    "queries, keys and values exchanged": r"(keys|values|data)_(used_as|first|second|from)_?.*|keys_ask|texts_ask_alone"
    r"|query_and_key_exchanged|keys_and_values_exchanged|roles_of_the_sequences_swapped",
    "a sum for a mean, or a mean for a sum": r"summed|averaged|averaged_products|plain_(mean|sum)|mean for sum|sum for mean",
    "one too many, or one too few": r"counted_from_(one|zero)|positions_from_one|shifted_.*|.* one (more|less|later|earlier)\b.*",
    "biases left out": r"biases?_.*(left_out|forgotten|dropped|ignored).*",
    "residual connections": r"no_residuals?.*|post_norm.*|residual_.*|sum_with_the_normed",
    "the order of results": r"results_swapped|results_in_the_other_order",
}


@dataclass(frozen=True)
class Returning:
    """A misconception, or a family of them, that was seen in more than one unit.

    Attributes:
        names: the mistakes that were seen, the most frequent first, as words.
        sentence: what students are told of the most frequent one in an exercise.
        reread: the lesson's section that most of them were sent to.
        units: how many students have it in each unit, in the order of the units.
        students: how many have it anywhere.
        again: who has it in more than one unit.
    """

    name: str
    names: tuple[str, ...]
    sentence: str
    reread: str
    units: dict[str, int]
    students: int
    again: tuple[str, ...]


def family(misconception: str) -> str:
    """The family of a misconception, or its own name in words."""
    names = (name for name, pattern in _FAMILIES.items() if re.fullmatch(pattern, misconception))
    return next(names, misconception.replace("_", " "))


def returning(results: Mapping[str, Iterable[Record]], most: int) -> tuple[list[Returning], int]:
    """The misconceptions that come back, those first that most students have again, and how many more there are.

    Args:
        results: the records of each unit, in the order of the units.
        most: how many are listed at most.
    """
    by_family: dict[str, list[tuple[str, Record]]] = defaultdict(list)
    for unit, records in results.items():
        for record in records:
            if record["misconception"]:
                by_family[family(record["misconception"])].append((unit, record))
    rows = []
    for name, occurrences in by_family.items():
        units_of: dict[str, set[str]] = defaultdict(set)
        for unit, record in occurrences:
            units_of[record["student"]].add(unit)
        if len(set.union(*units_of.values())) > 1:
            again = tuple(sorted(student for student, units_with_it in units_of.items() if len(units_with_it) > 1))
            rows.append((-len(again), -len(units_of), name, again, units_of, occurrences))
    rows.sort(key=lambda row: row[:3])
    listed = [
        _returning_misconception(name, again, units_of, occurrences, list(results))
        for _, _, name, again, units_of, occurrences in rows[:most]
    ]
    return listed, max(0, len(rows) - most)


def _returning_misconception(
    name: str,
    again: tuple[str, ...],
    units_of: Mapping[str, set[str]],
    occurrences: list[tuple[str, Record]],
    units: list[str],
) -> Returning:
    kinds = Counter((record["exercise"], record["misconception"] or "") for _, record in occurrences)
    names = Counter((record["misconception"] or "").replace("_", " ") for _, record in occurrences)
    return Returning(
        name,
        tuple(mistake for mistake, _ in names.most_common()),
        _sentence(*kinds.most_common(1)[0][0]),
        Counter(map(_section_to_reread, (record for _, record in occurrences))).most_common(1)[0][0],
        {unit: sum(unit in units_with_it for units_with_it in units_of.values()) for unit in units},
        len(units_of),
        again,
    )


def _section_to_reread(record: Record) -> str:
    match = re.search(r'reread (lesson \d\d, "[^"\n]*")', record["message"])
    return match[1] if match else ""


def _sentence(exercise: str, misconception: str) -> str:
    """What students are told of a mistake; nothing of one that an earlier version of the exercise knew."""
    unit = catalogue.unit_of().get(exercise)
    declared = (
        next((candidate for candidate in catalogue.exercises_of(unit) if candidate.name == exercise), None)
        if unit
        else None
    )
    explanations = declared.misconceptions if declared else []
    sentence = next((explanation.sentence for explanation in explanations if explanation.name == misconception), None)
    if sentence is None and declared:
        sentence = next(
            (
                counterfactual.sentence
                for counterfactual in declared.counterfactuals
                if counterfactual.name == misconception
            ),
            None,
        )
    return sentence or ""
