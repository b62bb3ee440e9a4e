"""Feature files in every form, how they are split and prepared, and who the true neighbours are."""
