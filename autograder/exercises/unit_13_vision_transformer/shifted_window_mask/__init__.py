"""The exercise shifted_window_mask: its declaration, and its mistakes by what they are about."""
