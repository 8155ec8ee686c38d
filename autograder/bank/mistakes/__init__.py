"""Mistakes that nobody declared: what the reference would give if an input, a weight, a position or a function were another."""
