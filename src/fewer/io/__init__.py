"""Files of any format, read as columns."""
