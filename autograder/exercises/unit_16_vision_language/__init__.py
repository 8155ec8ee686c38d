"""Unit 16, vision and language: one space for pictures and captions, what the losses teach, and captions that are filtered."""

EXERCISES = (  # in the assignment's order
    "contrastive_loss",
    "momentum_contrastive_loss",
    "negative_probabilities",
    "matching_batch",
    "text_masks",
    "zero_shot_probabilities",
    "kept_captions",
    "sigmoid_loss",
)
