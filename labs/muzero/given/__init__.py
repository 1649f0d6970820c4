"""What a student receives ready-made: data classes, training on a real board, and how the checks call a submission."""
