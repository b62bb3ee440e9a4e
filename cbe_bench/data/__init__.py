"""Feature files in every format, how they are split and preprocessed, and their exact neighbours."""
