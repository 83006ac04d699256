"""What-if analysis: a run's batches under other settings."""
