"""Fourier transforms and the products that rest on them."""
