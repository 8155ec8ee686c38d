"""Leaves of nbgrader's tools in JupyterLab the Validate button alone: the others are for who makes and grades assignments.

`python -m utils.lab` does so in the environment in which it runs.
"""

import sys

OF_INSTRUCTORS = [
    f"@jupyter/nbgrader:{name}"
    for name in ("assignment-list", "course-list", "create-assignment", "formgrader", "menu")
]


def hide_tools_of_instructors() -> str:
    """Switches them off, for this environment and no other; returns a sentence on what was done or was in the way."""
    from jupyterlab.commands import disable_extension

    try:
        for name in OF_INSTRUCTORS:
            disable_extension(name, level="sys_prefix")
    except OSError as error:
        return (
            f"{error.filename or sys.prefix} cannot be written ({error.strerror}): nbgrader's tools stay as they are."
        )
    return "JupyterLab now shows nbgrader's Validate button, and none of its tools for instructors."


if __name__ == "__main__":
    print(hide_tools_of_instructors())
