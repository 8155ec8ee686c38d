"""The kit tried as a whole: a demo, a sample class, benchmarks, and attacks in `attacks`. Nothing else depends on it."""
