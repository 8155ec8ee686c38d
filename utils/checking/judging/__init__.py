"""Compares observations with expected ones: problems, tolerance, verdict. No sentence is written here."""
