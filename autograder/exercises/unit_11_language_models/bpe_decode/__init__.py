"""The exercise bpe_decode: its declaration, and its mistakes by how deep and in which order merges are undone."""
