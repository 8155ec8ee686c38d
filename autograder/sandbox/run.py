"""What came of one job: what its process sent, and how it ended."""

from dataclasses import dataclass, field

from utils.checking.records import Observation

ENDED, TIMEOUT, STOPPED, KILLED = "ended", "timeout", "stopped", "killed"


@dataclass
class Run:
    """What a job's process sent, by cell and by exercise, and how it came to its end.

    Attributes:
        outputs: cell index -> outputs in nbformat's form.
        observations: exercise -> observations.
        seconds: exercise -> how long observing it took.
        confined: cell index -> an error that the confinement brought about in that cell, as an output.
        reached: the number of cells that were finished.
        how: "ended"; "timeout", of the whole job; "stopped", where one cell did not end; or "killed".
        why: for a process that was killed, what ended it, in words.
        fatal: cell index -> the words for a cell in which the process died or hung.
        hung: the indices of those that hung.
        lost: whether the sandbox itself was gone.
    """

    outputs: dict[int, list[dict]] = field(default_factory=dict)
    observations: dict[str, list[Observation]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    confined: dict[int, dict] = field(default_factory=dict)
    reached: int = 0
    how: str = KILLED
    why: str = ""
    fatal: dict[int, str] = field(default_factory=dict)
    hung: frozenset[int] = frozenset()
    lost: bool = False
