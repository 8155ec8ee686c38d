"""nbgrader's gradebook: its configuration, and what grading enters into it. Marks are not decided here."""
