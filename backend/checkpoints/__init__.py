"""The checkpoints that a run keeps."""
