"""Unit 06, multi-head attention and its cost: heads, counting, the online softmax in tiles, linear attention."""

from autograder.exercises.unit_06_multi_head import blocks, sources  # noqa: F401 - declare more of the mistakes in tiles and layer
from autograder.exercises.unit_06_multi_head.cost import attention_cost
from autograder.exercises.unit_06_multi_head.heads import merge_heads, split_heads
from autograder.exercises.unit_06_multi_head.layer import MultiHeadAttention
from autograder.exercises.unit_06_multi_head.linear import linear_attention
from autograder.exercises.unit_06_multi_head.online import online_softmax_step
from autograder.exercises.unit_06_multi_head.tiles import tiled_attention  # noqa: I001 - in the assignment's order

EXERCISES = (
    split_heads,
    merge_heads,
    MultiHeadAttention,
    attention_cost,
    online_softmax_step,
    tiled_attention,
    linear_attention,
)
