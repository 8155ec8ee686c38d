"""The exercise sequence_log_probability: its declaration, and its mistakes by what they are about."""
