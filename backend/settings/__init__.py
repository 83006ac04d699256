"""Settings of the deployment, read from the environment, and the rules that they hold."""
