"""Sentences on results of the wrong shape: what was done to their axes, and what their numbers are."""

_TAKEN = {  # the words for one axis reduced to one number, and for all axes reduced together
    "sum": ("the sum over", "the sum"),
    "mean": ("the mean over", "the mean"),
    "first": ("the first position along", "the first entry"),
    "last": ("the last position along", "the last entry"),
    "largest": ("the largest number along", "the largest number"),
    "smallest": ("the smallest number along", "the smallest number"),
}


def squeezed(name: str, count: int) -> str:
    """The sentence on so many axes of size 1 that are gone."""
    axes, some, are, they = _axes_of_size_one(count)
    return (
        f"{name} has {axes} too few: {some} of size 1 {are} gone. {are.title()} {they} squeezed away? squeeze() removes"
        " every axis of size 1, a batch of one too, and squeeze(dim) removes that one wherever its size is 1."
    )


def left_over(name: str, count: int) -> str:
    """The sentence on so many axes of size 1 that are left over."""
    axes, _, are, they = _axes_of_size_one(count)
    return (
        f"{name} has {axes} too many, of size 1: {are} {they} left over from keepdim, unsqueeze or None, or does a reshape"
        " make the same number of axes whatever comes in?"
    )


def _axes_of_size_one(count: int) -> tuple[str, str, str, str]:
    """The words for a number of axes of size 1: a noun, a pronoun for some of them, a verb, and a pronoun for all of them."""
    return ("one axis", "one", "is", "it") if count == 1 else (f"{count} axes", "some", "are", "they")


def transposed(name: str, axes: list[str]) -> str:
    """The sentence on a result whose axes came in this order."""
    return f"{name} is right but for the order of its axes: it is [{', '.join(axes)}]."


def sizes_in_another_order(name: str, no_order_is_right: bool) -> str:
    """The sentence on a shape with the expected sizes in another order; perhaps no order of the axes makes the result right."""
    if not no_order_is_right:
        return f"{name} has its axes in another order."
    return (
        f"The sizes of {name} are those asked for, at other axes, and exchanging axes alone does not make it right:"
        " are two sizes, or two axes, exchanged before?"
    )


def taken(name: str, how: str, axis: str) -> str:
    """The sentence on a result with one axis reduced to its "sum", "mean", "first", "last", "largest" or "smallest" number."""
    along, _ = _TAKEN[how]
    return f"{name} holds {along} {axis} of what is asked for: the axis {axis} is gone."


def taken_of_all(name: str, how: str) -> str:
    """The sentence on a result that is reduced to one number as a whole."""
    _, of_all = _TAKEN[how]
    return f"{name} is a single number, {of_all} of what is asked for."


def diagonal(name: str) -> str:
    """The sentence on a result that is the diagonal of the right one."""
    return f"{name} holds only the diagonal of what is asked for."


def merged(name: str) -> str:
    """The sentence on a result in which two axes have become one."""
    return (
        f"{name} has one axis too few. Two of them have become one: are they still to be taken apart again (unflatten), or"
        " were parts joined by cat, which makes no new axis, in the place of torch.stack?"
    )


def cut_otherwise(name: str) -> str:
    """The sentence on the right numbers in the right order, in another shape."""
    return (
        f"The numbers of {name} are right and in the right order; their shape is another."
        " Is a reshape or a flatten missing, or one too many?"
    )


def beyond(name: str) -> str:
    """The sentence on whole numbers that are larger than any right one."""
    return (
        f"Numbers of {name} are larger than any in the right result:"
        " is something left that should be replaced, or taken apart?"
    )
