"""The instructor's package: exercise bank, grading engine, sandbox, audit, reports and nbgrader's configuration."""

import sys

# nbformat brings jsonschema, which on import compiles a grammar for kinds of addresses that no notebook holds: 0.9 s of
# every start. jsonschema does without it where the package is absent.
if "jsonschema" not in sys.modules:
    sys.modules.setdefault("rfc3987_syntax", None)
