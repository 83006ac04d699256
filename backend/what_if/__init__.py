"""What a run's batches would have been under other settings."""
