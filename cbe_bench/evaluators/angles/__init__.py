"""Angles: what codes say of the angle between two vectors (Sections 4 and 6.1 of the paper)."""
