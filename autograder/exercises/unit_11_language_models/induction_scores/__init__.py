"""The exercise induction_scores: its declaration, and its mistakes by what is taken for what."""
