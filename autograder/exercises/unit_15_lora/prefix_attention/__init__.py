"""The exercise prefix_attention: its declaration, and its mistakes about what a prefix is."""
