"""Every sentence about a kind of failure that a student can read. Whether an answer is right is decided elsewhere."""
