"""Retrieval: how well codes find exact neighbours, at equal code length and at equal encode time."""
