"""Convex functionals over distributions, one class per file."""
