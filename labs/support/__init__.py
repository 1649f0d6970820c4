"""What the checks of several labs share."""
