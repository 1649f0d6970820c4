"""Look into a search: its numbers per move, its tree, and its first playouts step by step (handout sections 5.1 and 5.4)."""
