"""The server: runs, records, workers and people behind `/api/v1`. It decides; workers execute; nothing here trains."""
