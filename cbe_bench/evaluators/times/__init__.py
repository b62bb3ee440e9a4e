"""Times of encoding and of training: what is timed, in rounds of new processes, and intervals of what follows."""
