"""Writes files so that nobody ever finds half of one."""

import os
import secrets
from pathlib import Path


def write_atomically(file: Path, text: str) -> Path:
    """Writes a text file so that a reader sees the old one or the new one, never half of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        temporary.write_bytes(text.encode("utf-8", "replace"))
        os.replace(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)
    return file


def create_whole(file: Path, text: str) -> None:
    """Creates a file that nobody else can read, and that nobody ever finds without its text; one that is there stays."""
    temporary = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(
            os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
        ) as opened:
            opened.write(text)
        try:
            os.link(temporary, file)  # unlike a renaming, this replaces nothing
        except FileExistsError:
            pass  # another process was first
        except OSError:  # a file system without links
            if not file.exists():
                os.rename(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)
