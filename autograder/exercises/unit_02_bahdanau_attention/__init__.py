"""Unit 02, Bahdanau attention: scores, weights, context vectors, a decoder that attends, how well it aligns; local attention."""

EXERCISES = (  # in the assignment's order
    "dot_product_scores",
    "bilinear_scores",
    "additive_scores",
    "attention_weights",
    "context_vectors",
    "AttentionStep",
    "decode_with_attention",
    "alignment_error_rate",
    "local_attention_weights",
)
