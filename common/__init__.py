"""What every room uses and what uses no room: errors, files, text, weights, and which stub comes next."""
