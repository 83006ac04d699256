"""Buffers that methods keep between steps: difficult prompts, and groups for reuse."""

from bapo.buffers.difficult import DifficultBuffer
from bapo.buffers.high_quality import HighQualityBuffer
from bapo.buffers.past import PastGroups

__all__ = ["DifficultBuffer", "HighQualityBuffer", "PastGroups"]
