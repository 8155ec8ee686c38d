"""Where submissions run: the levels of confinement and one job. What runs beside student code is in `inside`."""
