"""A recorded step walked line by line beside the method's rule, and under other thresholds."""
