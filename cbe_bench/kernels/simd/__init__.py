"""Vector instructions for compiled loops."""
