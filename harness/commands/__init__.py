"""The commands of `guardlab`, one a file: each has `run(options)`, which returns the exit code."""
