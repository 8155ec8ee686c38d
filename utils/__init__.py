"""The student's package: self-checks, data, small models, figures, measures and the choice of device.

It never imports `autograder`, and holds no solution, no reference and none of the numbers that grading draws.
"""
