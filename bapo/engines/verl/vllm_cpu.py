"""verl's vLLM server on a CPU: only the extension of vLLM's workers differs."""

from __future__ import annotations

from typing import Any

import ray
from verl.workers.rollout.vllm_rollout.utils import vLLMColocateWorkerExtension
from verl.workers.rollout.vllm_rollout.vllm_async_server import vLLMHttpServer, vLLMReplica

from bapo.engines.verl.patches import keep_plain_weights


class CpuWorkerExtension(vLLMColocateWorkerExtension):  # type: ignore[misc]
    """Mixed into vLLM's worker, made before the worker loads the model."""

    def __new__(cls, **options: Any) -> Any:
        """Make the worker."""
        keep_plain_weights()
        return super().__new__(cls, **options)


class CpuServer(vLLMHttpServer):  # type: ignore[misc]
    """Runs one vLLM engine on the CPU."""

    def _get_worker_extension_cls(self) -> str:
        return f"{CpuWorkerExtension.__module__}.{CpuWorkerExtension.__name__}"


class CpuReplica(vLLMReplica):  # type: ignore[misc]
    """Starts the servers of one copy of the model."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.server_class = ray.remote(CpuServer)
