"""Exercise 2, a text in the tokens that byte pair encoding has learned."""
