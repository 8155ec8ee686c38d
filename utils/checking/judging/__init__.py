"""Compares what was observed with what was expected: problems, tolerance, verdict. No sentence is made here."""
