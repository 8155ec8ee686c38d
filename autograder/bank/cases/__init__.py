"""The inputs on which an exercise is examined: drawn from a seed, and under every condition that its signature allows."""
