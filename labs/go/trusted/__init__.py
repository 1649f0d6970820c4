"""What knows the correct answers; no kit contains it."""
