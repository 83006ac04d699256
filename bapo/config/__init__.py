"""The config of a run, its documentation, recipes and checks. Torch-free."""

from bapo.config.errors import ConfigError, ConfigProblem
from bapo.config.resolve import ResolvedConfig, apply_changes, parse_assignments, parse_config, resolve
from bapo.config.run import RunConfig

__all__ = [
    "ConfigError",
    "ConfigProblem",
    "ResolvedConfig",
    "RunConfig",
    "apply_changes",
    "parse_assignments",
    "parse_config",
    "resolve",
]
