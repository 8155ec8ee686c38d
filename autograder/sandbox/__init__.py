"""Where submissions run: levels of confinement, limits, one job; `inside` runs beside student code. No answer is known here."""
