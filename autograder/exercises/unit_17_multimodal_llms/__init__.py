"""Unit 17, multimodal language models: bridges from a picture to a language model that was trained on text alone."""

EXERCISES = (  # in the assignment's order
    "picture_prefix",
    "query_masks",
    "QFormerLayer",
    "query_scores",
    "Resampler",
    "GatedBlock",
    "qformer_parameters",
    "interleaved_mask",
)
