"""Unit 02, Bahdanau attention: three scores, weights, context vectors, a decoder that attends, and how well it aligns."""

EXERCISES = (  # in the assignment's order
    "dot_product_scores",
    "bilinear_scores",
    "additive_scores",
    "attention_weights",
    "context_vectors",
    "AttentionStep",
    "decode_with_attention",
    "alignment_error_rate",
)
