"""The checkpoints that runs keep."""
