"""Studies: arms × regimes × seeds that are declared before the first run, made whole, and read as one report."""
