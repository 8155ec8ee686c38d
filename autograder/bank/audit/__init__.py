"""Proves an exercise's checks: mistakes and mutants are caught, right answers pass, and cases can tell them apart."""
