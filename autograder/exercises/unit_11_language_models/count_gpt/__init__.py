"""The exercise count_gpt: its declaration, and its mistakes by which of the two counts they are made in."""
