"""The exercise masked_multi_head_attention: its declaration, and its mistakes by what they are about."""
