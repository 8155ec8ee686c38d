"""Unit 03, image captioning: grids, attention over them, a caption's step, the penalty, and a captioner that is trained."""

from autograder.exercises.unit_03_image_captioning.captioner import caption_scenes
from autograder.exercises.unit_03_image_captioning.flatten import grid_to_vectors
from autograder.exercises.unit_03_image_captioning.looking import grid_attention
from autograder.exercises.unit_03_image_captioning.maps import weights_to_maps
from autograder.exercises.unit_03_image_captioning.penalty import doubly_stochastic_penalty
from autograder.exercises.unit_03_image_captioning.start import InitialState
from autograder.exercises.unit_03_image_captioning.step import CaptionStep

EXERCISES = (
    grid_to_vectors,
    weights_to_maps,
    grid_attention,
    InitialState,
    CaptionStep,
    doubly_stochastic_penalty,
    caption_scenes,
)
