"""What instructor and student read once a unit is graded: class report, feedback pages, similar pairs."""
