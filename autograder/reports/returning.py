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
    found = (name for name, pattern in _FAMILIES.items() if re.fullmatch(pattern, misconception))
    return next(found, misconception.replace("_", " "))


def returning(results: Mapping[str, Iterable[Record]], most: int) -> tuple[list[Returning], int]:
    """The misconceptions that come back, those first that most students have again, and how many more there are.

    Args:
        results: the records of each unit, in the order of the units.
        most: so many are told at most.
    """
    seen: dict[str, list[tuple[str, Record]]] = defaultdict(list)
    for unit, records in results.items():
        for one in records:
            if one["misconception"]:
                seen[family(one["misconception"])].append((unit, one))
    rows = []
    for name, found in seen.items():
        where: dict[str, set[str]] = defaultdict(set)
        for unit, one in found:
            where[one["student"]].add(unit)
        if len(set.union(*where.values())) > 1:
            again = tuple(sorted(student for student, own in where.items() if len(own) > 1))
            rows.append((-len(again), -len(where), name, again, where, found))
    rows.sort(key=lambda row: row[:3])
    told = [_told(name, again, where, found, list(results)) for _, _, name, again, where, found in rows[:most]]
    return told, max(0, len(rows) - most)


def _told(
    name: str, again: tuple[str, ...], where: Mapping[str, set[str]], found: list[tuple[str, Record]], units: list[str]
) -> Returning:
    kinds = Counter((one["exercise"], one["misconception"] or "") for _, one in found)
    names = Counter((one["misconception"] or "").replace("_", " ") for _, one in found)
    return Returning(
        name,
        tuple(one for one, _ in names.most_common()),
        _sentence(*kinds.most_common(1)[0][0]),
        Counter(map(_reread, (one for _, one in found))).most_common(1)[0][0],
        {unit: sum(unit in own for own in where.values()) for unit in units},
        len(where),
        again,
    )


def _reread(record: Record) -> str:
    said = re.search(r'reread (lesson \d\d, "[^"\n]*")', record["message"])
    return said[1] if said else ""


def _sentence(exercise: str, misconception: str) -> str:
    """What students are told of a mistake; nothing of one that an earlier version of the exercise knew."""
    unit = catalogue.unit_of().get(exercise)
    declared = next((one for one in catalogue.exercises_of(unit) if one.name == exercise), None) if unit else None
    explanations = declared.misconceptions if declared else []
    found = next((one.sentence for one in explanations if one.name == misconception), None)
    if found is None and declared:
        found = next((one.sentence for one in declared.counterfactuals if one.name == misconception), None)
    return found or ""
