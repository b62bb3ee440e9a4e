"""The hot loops. They know arrays, not methods."""
