"""The exercise DecoderBlock: its declaration, and its mistakes in how it is wired."""
