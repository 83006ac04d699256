"""Pretrained models, from the package or the hub that publishes them to the folders that engines load."""


class PretrainedError(ValueError):
    """A model cannot be fetched or converted; the message says why and what to do."""


class UnreachableError(PretrainedError):
    """The package index or the hub does not answer."""
