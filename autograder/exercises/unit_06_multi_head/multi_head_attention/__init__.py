"""The exercise multi_head_attention: its declaration, and its mistakes by what they are about."""
