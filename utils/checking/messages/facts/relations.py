"""Sentences on a result compared with other results, with the inputs, and with another call."""

from utils.checking.messages.facts.weights import look_past


def chosen(name: str, scores: str) -> str:
    """The sentence on integers that are not where the code's own scores are largest."""
    return f"{name} is not where your own {scores} is largest along its last axis: how is it chosen?"


def which(right: list[str], wrong: list[str], weights: list[str]) -> str:
    """The sentence on several results some of which are right; `weights` are those of them that hold weights."""
    after = f": {look_past(weights, wrong)}" if weights else ""
    return f"{' and '.join(right)} {_is_or_are(right)} right, {' and '.join(wrong)} {_is_or_are(wrong)} not{after}."


def _is_or_are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def earlier(name: str) -> str:
    """The sentence on a result that was right for other inputs."""
    return f"{name} was right for the inputs of another call: is something kept between calls?"


def given(name: str, argument: str) -> str:
    """The sentence on a result that is an argument."""
    return f"{name} is {argument}, as it was given."


def given_part(name: str, argument: str) -> str:
    """The sentence on a result some features of which are those of an argument."""
    return (
        f"Some features of {name}, along the last axis, are those of {argument}, unchanged at all positions:"
        " should they change as well?"
    )
