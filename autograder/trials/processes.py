"""Which processes descend from one: what a run has started, and nobody else's."""

from pathlib import Path


def family(process: int) -> list[int]:
    """A process and all that descend from it."""
    parents = {}
    for entry in Path("/proc").iterdir() if Path("/proc").is_dir() else ():
        try:
            if entry.name.isdigit():
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            pass
    members = {process}
    while children := {child for child, parent in parents.items() if parent in members} - members:
        members |= children
    return sorted(members)
