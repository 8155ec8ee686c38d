"""Unit 14, set prediction: boxes, a matching of two sets, and a loss that does not ask for an order."""

EXERCISES = (  # in the assignment's order
    "to_corners",
    "generalised_iou",
    "matching_costs",
    "match",
)
