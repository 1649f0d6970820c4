"""The checks of the lab NoGo."""
