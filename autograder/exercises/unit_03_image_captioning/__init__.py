"""Unit 03, image captioning: grids, attention over them, a caption's step, the penalty, and a captioner that is trained."""

EXERCISES = (  # in the assignment's order
    "grid_to_vectors",
    "weights_to_maps",
    "grid_attention",
    "InitialState",
    "CaptionStep",
    "doubly_stochastic_penalty",
    "caption_scenes",
    "gated_context",
)
