"""What an exercise is: declaring it, drawing its cases, freezing, linting and auditing it. No exercise itself."""
