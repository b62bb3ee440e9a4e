"""Classification: linear SVMs trained on codes beside those of the features themselves (Table 3 of the paper)."""
