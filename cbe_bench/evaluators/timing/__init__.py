"""Timing: how long encoding takes, and how it grows (Tables 1 and 2 of the paper)."""
