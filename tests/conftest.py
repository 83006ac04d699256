"""Fixtures for all tests."""

pytest_plugins = ["tests.recorded", "tests.services", "tests.stack"]
