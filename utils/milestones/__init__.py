"""Milestones: what a student's solved exercises are together. Finding them, lending what is missing, keeping what was reached."""
