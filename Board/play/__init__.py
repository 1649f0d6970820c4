"""Games that a person plays or watches, apart from how they are drawn; the window and the terminal use it."""
