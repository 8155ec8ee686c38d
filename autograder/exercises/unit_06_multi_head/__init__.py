"""Unit 06, multi-head attention and its cost: heads, counting, the online softmax in tiles, linear attention."""

EXERCISES = (  # in the assignment's order
    "split_heads",
    "merge_heads",
    "MultiHeadAttention",
    "attention_cost",
    "online_softmax_step",
    "tiled_attention",
    "linear_attention",
)
