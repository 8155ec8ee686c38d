"""What nbgrader's own commands load of the kit: its steps of autograde, and the check in a hidden test cell."""
