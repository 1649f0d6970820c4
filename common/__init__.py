"""Shared helpers that depend on no other package: errors, files, processes, text, scoring, weights, the next stub to write."""
