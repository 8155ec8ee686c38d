"""The exercise bank: one module a unit, one declaration an exercise."""
