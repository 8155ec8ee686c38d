"""Unit 14, set prediction: boxes and their overlap, matching a set with a set, DETR's loss and decoder, and average precision."""

EXERCISES = (  # in the assignment's order
    "set_loss",
    "QueryDecoder",
    "average_precision",
    "denoising_mask",
)
