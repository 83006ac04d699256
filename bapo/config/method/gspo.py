"""GSPO."""

from __future__ import annotations

from typing import Literal

from bapo.config.section import Section


class GspoConfig(Section):
    """GSPO: GRPO with one length-normalised ratio per response, clipped as a whole (arXiv:2507.18071)."""

    type: Literal["gspo"] = "gspo"
