"""Runs a student's object on a case and writes down, as plain data, what it did. Nothing is compared here."""
