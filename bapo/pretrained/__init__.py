"""Pretrained models, from the package or the hub that publishes them to the folders that engines load."""
