"""What knows the right answers; no kit holds it."""
