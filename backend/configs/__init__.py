"""Recipes and the check of configs."""
