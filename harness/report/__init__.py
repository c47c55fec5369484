"""What a run says: failures, artifacts, the end of a session."""
