"""Unit 09, the Transformer block: residual stream, normalisation, MLP, and what is put in their place."""

EXERCISES = (  # in the assignment's order
    "layer_norm",
    "rms_norm",
    "SwiGLU",
    "TransformerBlock",
    "count_block",
    "top_k_gates",
    "balance_loss",
    "mixture_of_experts",
)
