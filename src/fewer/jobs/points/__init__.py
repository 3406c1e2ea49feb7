"""Weighted rows that stand for a whole data set."""
