"""What people hand in: tables of any container, by column and kind, encoded for the objectives."""
