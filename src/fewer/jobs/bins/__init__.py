"""Few values or bins of a distribution."""
