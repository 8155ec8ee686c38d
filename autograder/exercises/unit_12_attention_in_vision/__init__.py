"""Unit 12, attention in vision: grids of cells, windows, points in space, and pictures that are written pixel by pixel."""

EXERCISES = (  # in the assignment's order
    "SelfAttention2d",
    "attention_in_windows",
    "nearest_neighbours",
    "neighbour_attention",
    "SetPooling",
    "raster_mask",
    "bits_per_pixel",
    "path_lengths",
    "axial_attention",
)
