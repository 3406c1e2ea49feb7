"""Methods that the paper and its users compare with."""
