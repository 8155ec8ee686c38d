"""The instructor's package: exercises and their bank, intake, sandbox, grading, gradebook, reports. No student receives it."""

import sys

# nbformat brings jsonschema, which on import compiles a grammar for kinds of addresses that no notebook holds: 0.9 s of
# every start. jsonschema does without it where the package is absent.
if "jsonschema" not in sys.modules:
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None: it is not imported
