"""What every experiment stands on: errors, cache, environment, results."""
