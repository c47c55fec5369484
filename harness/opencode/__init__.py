"""The real OpenCode: found, isolated, started, talked to and listened to."""
