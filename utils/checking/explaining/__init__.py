"""Relations between what came and what was expected, found by comparing numbers; no code of a student runs here."""
