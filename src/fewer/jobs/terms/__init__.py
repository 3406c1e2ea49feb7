"""Few columns whose weighted sum tracks a target."""
