"""Explains failures by comparing actual with expected numbers; no code of a student runs here."""
