"""Figures that a reader can repeat: one command each, one JSON file and one Markdown table out."""
