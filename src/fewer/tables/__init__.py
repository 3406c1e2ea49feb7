"""Tables of any container, by column and kind, in memory and in blocks, encoded for the objectives."""
