"""Operation of the server: health, readiness, metrics, diagnosis, migrations and regular maintenance."""
