"""The checks of the lab Go."""
