"""The exercise MultiHeadAttention: its declaration, and its mistakes by what they are about."""
