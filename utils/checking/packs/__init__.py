"""The self-checks as they come with the course: exercises with frozen numbers, and the code that writes and reads them."""
