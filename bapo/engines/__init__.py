"""Engines generate responses and update the policy; `base` is the protocol, `local` and `verl` implement it."""
