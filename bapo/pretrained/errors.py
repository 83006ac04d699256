"""Failures of fetching and converting a pretrained model."""

from __future__ import annotations


class PretrainedError(ValueError):
    """A model cannot be fetched or converted; the message says why and what to do."""


class UnreachableError(PretrainedError):
    """The package index or the hub does not answer."""
