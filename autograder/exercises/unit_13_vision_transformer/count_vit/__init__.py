"""The exercise count_vit: its declaration, and its mistakes by where they are made."""
