"""Recipes, validation and cost estimates of configs."""
