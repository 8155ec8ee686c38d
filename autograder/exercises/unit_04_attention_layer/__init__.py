"""Unit 04, the attention layer: from one query's scores to cross-attention, and a measurement of why scores are divided by √D."""

EXERCISES = (  # in the assignment's order
    "attention_scores",
    "stable_softmax",
    "attention_pooling",
    "scaled_dot_product_attention",
    "AttentionLayer",
    "CrossAttentionLayer",
    "gradient_through_softmax",
    "attention_backward",
)
