"""What runs in the sandbox beside a student's code; it holds no expected value, and students do not receive it."""
