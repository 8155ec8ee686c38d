"""The kind of enumeration that the checks use: texts, each with flags for its traits."""

from enum import Flag, StrEnum
from typing import Self


class Described(StrEnum):
    """A text with flags: members are written `NAME = "text"` or `NAME = "text", Trait.ONE | Trait.OTHER`."""

    traits: Flag | None

    def __new__(cls, value: str, traits: Flag | None = None) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.traits = traits
        return member

    def has(self, trait: Flag) -> bool:
        """Whether the member has a flag, or any of several."""
        return self.traits is not None and bool(self.traits & trait)
