"""What Prometheus reads: counters of this process and the state of the whole product."""
