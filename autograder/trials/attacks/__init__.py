"""Attacks on grading: each a small notebook with the score it deserves; `python -m autograder attacks` tries them all."""
