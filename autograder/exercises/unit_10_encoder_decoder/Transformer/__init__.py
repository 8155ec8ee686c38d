"""The exercise Transformer: its declaration, and its mistakes in how it is wired."""
