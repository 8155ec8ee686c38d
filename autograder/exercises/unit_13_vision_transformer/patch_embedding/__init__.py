"""The exercise PatchEmbedding: its declaration, and its mistakes."""
