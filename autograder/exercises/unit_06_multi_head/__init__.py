"""Unit 06, multi-head attention: heads, what each of them adds, what they cost, and torch's packed weights."""

EXERCISES = (  # in the assignment's order
    "split_heads",
    "merge_heads",
    "MultiHeadAttention",
    "head_contributions",
    "attention_cost",
    "unpack_weights",
    "prune_heads",
)
