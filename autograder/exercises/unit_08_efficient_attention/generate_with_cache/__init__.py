"""The exercise generate_with_cache: its declaration, and its mistakes by what they are about."""
