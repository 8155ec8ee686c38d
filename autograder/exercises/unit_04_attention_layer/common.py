"""What the exercises of unit 04 share: calls that would answer them, and small sizes."""

FUSED = ("scaled_dot_product_attention", "multi_head_attention")
SMALL = {"B_1": 3, "B_2": 2}  # two batch axes of any size would make large self-checks
