"""The exercise TransformerBlock: its declaration, and its mistakes by what they are about."""
