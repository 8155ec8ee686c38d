"""Runs a student's object on a case and writes down, as plain data, what it did. It is not held against what is expected here."""
