"""Unit 13, the Vision Transformer: patches as tokens, class token and positions, encoder and head, distillation."""

EXERCISES = (  # in the assignment's order
    "patchify",
    "unpatchify",
    "PatchEmbedding",
    "add_class_token_and_positions",
    "interpolate_positions",
    "VisionTransformer",
    "count_vit",
    "distillation_loss",
    "shifted_window_mask",
)
