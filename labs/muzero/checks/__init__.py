"""The checks of the lab MuZero."""
