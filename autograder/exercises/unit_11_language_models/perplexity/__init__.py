"""The exercise perplexity: its declaration, and its mistakes by what they are about."""
