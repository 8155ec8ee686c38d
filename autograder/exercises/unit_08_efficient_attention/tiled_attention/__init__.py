"""The exercise tiled_attention: its declaration, and its mistakes by what they are about."""
