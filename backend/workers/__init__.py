"""Workers: the machines that train, and what they hold."""
