"""The exercise quantize_blocks: its declaration, and its mistakes by the scales of blocks, and by codes and bytes."""
