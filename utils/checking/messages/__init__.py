"""Every sentence that a student can read from a check, by what it is about. Nothing here compares or runs anything."""
