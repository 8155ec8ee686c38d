"""The exercise bank: one package a unit, in it one declaration an exercise, and EXERCISES in the assignment's order."""
