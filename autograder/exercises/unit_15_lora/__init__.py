"""Unit 15, LoRA and its relatives: adapters, prefixes, and weights of four bits."""

EXERCISES = (  # in the assignment's order
    "LoRALinear",
    "add_adapters",
    "switch_adapters",
    "prefix_attention",
    "normal_float",
    "quantize_blocks",
    "dequantize_blocks",
    "quantized_bytes",
    "subspace_overlap",
)
