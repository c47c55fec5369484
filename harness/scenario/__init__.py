"""The scenario file: what it may say, and how it is read."""
