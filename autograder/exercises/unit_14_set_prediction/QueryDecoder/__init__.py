"""The exercise QueryDecoder: its declaration, and its mistakes by what they are about."""
