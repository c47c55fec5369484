"""Starts, watches and ends the programs of a run, and knows the differences between systems."""
