"""What the results of a match say and how certain it is, and when enough games have been played."""
