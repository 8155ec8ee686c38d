"""Unit 14, set prediction: what a picture holds, as a set of boxes that no order is asked of."""

EXERCISES = (  # in the assignment's order
    "to_corners",
    "generalised_iou",
    "matching_costs",
    "match",
    "set_loss",
    "QueryDecoder",
    "average_precision",
    "denoising_mask",
)
