"""What a code is worth: pure functions of codes, projections and ground truth."""
