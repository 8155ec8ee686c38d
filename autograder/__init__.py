"""The instructor's package: exercise bank, grading, audit and reports. Students never receive it."""
