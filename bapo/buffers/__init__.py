"""What BAPO remembers between steps: difficult prompts and groups worth reusing."""

from bapo.buffers.difficult import DifficultBuffer
from bapo.buffers.high_quality import HighQualityBuffer

__all__ = ["DifficultBuffer", "HighQualityBuffer"]
