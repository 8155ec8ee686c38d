"""From an author's sources to notebooks, self-checks and what students receive. Nothing is graded here."""
