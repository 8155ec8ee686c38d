"""Unit 08, efficient attention: what need not be computed twice, what need not be stored, and what can be given up."""

EXERCISES = (  # in the assignment's order
    "generate_with_cache",
    "grouped_query_attention",
    "online_softmax_step",
    "tiled_attention",
    "linear_attention",
    "windowed_attention",
)
