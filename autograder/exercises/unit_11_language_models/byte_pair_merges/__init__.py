"""The exercise byte_pair_merges: its declaration, and its mistakes by the step in which they are made."""
