"""New runs: submitted, cloned and forked."""
