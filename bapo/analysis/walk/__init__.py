"""A recorded step walked line by line along the method's rule, and under other thresholds."""
