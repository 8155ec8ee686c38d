"""Exercise 3, from tokens back to letters."""
