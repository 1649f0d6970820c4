"""A name that a page must not take for a picture."""
