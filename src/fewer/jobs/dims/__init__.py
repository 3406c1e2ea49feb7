"""Few columns of discrete data."""
