"""The exercise set_loss: its declaration, and its mistakes by what they are about."""
