"""The exercise GPT: its declaration, and its mistakes by what they are about."""
