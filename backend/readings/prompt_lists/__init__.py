"""Prompt lists, whose entries the next run leaves out or weighs."""
