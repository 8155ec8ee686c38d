"""Unit 07, masking: who may see whom, what a sequence's probability is, and what need not be computed twice."""

EXERCISES = (  # in the assignment's order
    "causal_mask",
    "padding_mask",
    "masked_softmax",
    "MaskedMultiHeadAttention",
    "sequence_log_probability",
    "generate_with_cache",
)
