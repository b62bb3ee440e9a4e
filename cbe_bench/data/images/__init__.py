"""Features of images: where images come from, how they are read, described and written as VLAD files."""
