"""Gomoku and its relatives (m,n,k-games), whose single-position form is the students' `Board`."""
