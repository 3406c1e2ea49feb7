"""Compiled code: plain functions on arrays that check nothing and import nothing of ours."""
