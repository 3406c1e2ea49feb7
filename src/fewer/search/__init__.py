"""Engines: how a support is valued, grown, improved, perturbed and bounded, for one kind of problem each."""
