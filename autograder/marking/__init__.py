"""Written answers marked by a human: one question across all students, with the mark scheme as a rubric."""
