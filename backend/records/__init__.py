"""Recorded data: ingest from workers, series, records, logs."""
