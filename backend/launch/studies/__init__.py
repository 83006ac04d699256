"""Studies: runs that are planned, made, steered and read together, with or without a declared question."""
