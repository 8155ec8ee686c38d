"""The exercise add_adapters: its declaration, and its mistakes by what they are about."""
