"""Confinement: what isolates a submission's programs from the machine that grades them."""
