"""Features of texts: where texts come from, and their hashed TF-IDF vectors."""
