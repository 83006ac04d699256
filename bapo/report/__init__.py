"""Runs laid out as the paper's figures and tables: what the paper view shows and the HTML report holds."""
