"""Shared helpers that depend on no other package: errors, files, text, scoring, weights, and the next stub to write."""
