"""Holds what exercises of several units share: mistakes and helpers for drawing cases. Nothing here names an exercise."""
