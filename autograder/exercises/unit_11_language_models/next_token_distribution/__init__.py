"""The exercise next_token_distribution: its declaration, and its mistakes by what they are about."""
