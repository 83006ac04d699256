"""The config of a run, its documentation, recipes and checks. Torch-free."""

from bapo.config.errors import ConfigError, ConfigProblem
from bapo.config.resolve import Resolution, apply_changes, parse_assignments, resolve
from bapo.config.run import RunConfig

__all__ = [
    "ConfigError",
    "ConfigProblem",
    "Resolution",
    "RunConfig",
    "apply_changes",
    "parse_assignments",
    "resolve",
]
