"""Prometheus metrics: counters of this process and state of the product."""
