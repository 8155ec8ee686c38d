"""The exercise decode_greedily: its declaration, and the toy translators that it is tried on."""
