"""What the command line gives to who adds verbs to it."""

import argparse
from collections.abc import Callable
from typing import Protocol


class VerbMaker(Protocol):
    """Makes a verb's parser: what the verb is called, what runs it, and what `--help` says of it."""

    def __call__(
        self, name: str, action: Callable[[argparse.Namespace], int | None], help: str
    ) -> argparse.ArgumentParser: ...
