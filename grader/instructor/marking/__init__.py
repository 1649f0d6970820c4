"""Totals of a class: program points and marks by a scheme, as tables for people and for learning platforms."""
