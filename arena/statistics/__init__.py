"""What the results of a match say, with their uncertainty, and when enough games are played."""
