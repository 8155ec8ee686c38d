"""What instructor and student read of graded units: reports of a unit and of the course, feedback. No mark is changed here."""
