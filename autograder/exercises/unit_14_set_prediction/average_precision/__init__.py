"""The exercise average_precision: its declaration, and its mistakes by what they are about."""
