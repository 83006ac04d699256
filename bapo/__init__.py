"""BAPO: off-policy reinforcement learning with verifiable rewards, after "Buffer Matters" (arXiv:2602.20722)."""

__version__ = "0.2.0"
