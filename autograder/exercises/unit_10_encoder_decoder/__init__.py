"""Unit 10, encoder and decoder: the whole Transformer, how it is trained and how it writes, and the families of models."""

EXERCISES = (  # in the assignment's order
    "DecoderBlock",
    "Transformer",
    "smoothed_cross_entropy",
    "learning_rate",
    "count_transformer",
    "decode_greedily",
    "penalised_scores",
    "relative_bias",
)
