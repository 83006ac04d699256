"""Studies: the list, the form for a new one, and the page of one with its progress and results."""
