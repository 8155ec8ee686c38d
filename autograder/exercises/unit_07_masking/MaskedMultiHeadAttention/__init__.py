"""The exercise MaskedMultiHeadAttention: its declaration, and its mistakes by what they are about."""
