"""The student's package: self-checks, data, pictures, widgets and the choice of device.

It never imports `autograder`, and holds no solution, no reference and no hidden case.
"""
