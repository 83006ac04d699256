"""The verl engine: the same loop on Ray, FSDP and vLLM, from one CPU to a GPU cluster.

A plugin of the released verl: its registries, subclasses and the `verl.plugins` entry point. No verl or vLLM file is
edited or copied; `patches.py` holds what cannot be done from outside.
"""
