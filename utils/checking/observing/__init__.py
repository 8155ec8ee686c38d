"""Runs a student's object on a case and records, as plain data, what it did. It is not held against what was expected here."""
