"""What nbgrader's own commands load of the kit: steps of autograde, and a hidden test cell's check. The work is elsewhere."""
