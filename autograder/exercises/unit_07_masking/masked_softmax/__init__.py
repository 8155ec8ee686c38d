"""The exercise masked_softmax: its declaration, and its mistakes by what they are about."""
