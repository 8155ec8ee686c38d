"""Keeps tests of one xdist group in one process, which pytest-xdist 3.8 no longer does under pytest 9.2.

It writes the group into an attribute where pytest no longer looks, and before `conftest.py` has named the groups. Then
`--dist loadgroup` silently spreads a group over all processes, each of which would run the same lesson again. See
https://github.com/pytest-dev/pytest-xdist/issues/1386; once that is mended this file can go.
"""


def keep_together(config, items: list) -> None:
    """Names each test's group at the end of its id, behind an @, where xdist's scheduler reads it."""
    if not getattr(config.option, "loadgroup", False):  # set in the processes that xdist starts
        return
    for item in items:
        group = item.get_closest_marker("xdist_group")
        if group and "@" not in item.nodeid.rpartition("]")[2]:
            item._id = type(item._id).parse(f"{item.nodeid}@{group.args[0]}")
