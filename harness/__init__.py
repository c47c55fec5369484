"""guardlab: proves loop guards in the real OpenCode."""
