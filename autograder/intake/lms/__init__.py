"""A class as its learning management system knows it: who its students are, and what it lets one download."""
