"""Mistakes, and what they need, that exercises of several units share. Nothing here names an exercise."""
