"""The exercise interpolate_positions: its declaration, and its mistakes by what they are about."""
