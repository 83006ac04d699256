"""Environment variables of the trainer and of every process of verl; set before verl is imported."""

from __future__ import annotations

import os
from pathlib import Path

import bapo
from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.engines.verl.leftovers import TRAINER_VARIABLE

PLATFORM_VARIABLE = "VERL_PLATFORM"
_EVERYWHERE = {
    # Besides the entry point, so that an uninstalled checkout works and a fault in the plugin is visible.
    "VERL_USE_EXTERNAL_MODULES": "bapo.engines.verl.plugin",
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Ray starts its workers at niceness 15: with any other load on the machine, training would hardly move.
    "RAY_worker_niceness": "0",
    # Ray starts a worker for each core before anything asks for one; verl's processes have variables of their own and
    # cannot be any of these.
    "RAY_prestart_worker_first_driver": "0",
    "RAY_enable_worker_prestart": "0",
    "TOKENIZERS_PARALLELISM": "false",
}
_WITHOUT_GPU = {
    PLATFORM_VARIABLE: "cpu",
    # verl's FSDP engines are registered for CUDA, and use the platform's device.
    "VERL_ENGINE_DEVICE": "cuda",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    # The sampler's compilation takes ten seconds and gains nothing here.
    "TORCHDYNAMO_DISABLE": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


def prepare_environment(config: RunConfig, vllm_build: str) -> None:
    """Set the variables here; `worker_environment` hands them on. Raises ConfigError where there is no such device."""
    on_cpu = runs_on_cpu(config, vllm_build)
    os.environ |= worker_environment(config, on_cpu=on_cpu)
    if not on_cpu:
        os.environ.pop(PLATFORM_VARIABLE, None)


def runs_on_cpu(config: RunConfig, vllm_build: str) -> bool:
    """Return whether to train without a GPU. Raises ConfigError where the config asks for a device that is not
    there.
    """
    wanted = config.engine.device
    if wanted == "cuda" and vllm_build == "vllm-cpu":
        raise ConfigError(
            [ConfigProblem("engine.device", wanted, "vLLM's build for the CPU is installed: choose cpu or auto")]
        )
    if wanted == "cpu" and vllm_build == "vllm":
        raise ConfigError(
            [ConfigProblem("engine.device", wanted, "vLLM's build for GPUs is installed: choose cuda or auto")]
        )
    return vllm_build == "vllm-cpu"


def worker_environment(config: RunConfig, *, on_cpu: bool) -> dict[str, str]:
    """Return the environment variables that each process of verl needs."""
    source = str(Path(bapo.__file__).parents[1])
    paths = [source, *(path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != source)]
    return {
        **_EVERYWHERE,
        **(_WITHOUT_GPU if on_cpu else {}),
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": str(config.engine.threads),
        TRAINER_VARIABLE: str(os.getpid()),
    }
