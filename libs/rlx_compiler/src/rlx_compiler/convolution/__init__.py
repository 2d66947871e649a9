"""Algorithms for convolutions beside their definition: `choose` is the table, and each algorithm a file."""
