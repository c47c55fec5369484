"""Turns the export of a real session into a scenario."""
