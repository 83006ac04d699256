"""Fixtures for all tests."""

pytest_plugins = ["tests.services", "tests.stack"]
