"""Sets of distributions with their projections, one class per file."""
