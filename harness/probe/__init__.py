"""The observer plugin in OpenCode's process, and the harness's end of its line."""
