"""Config fields as inputs: shown, parsed, compared and marked, for the form of a new run and for a running one."""
