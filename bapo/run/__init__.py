"""One run from config to summary: trainer, journal, checkpoints, control requests."""
