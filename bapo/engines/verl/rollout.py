"""Weights to vLLM by verl's own way, with an end where vLLM does not take them."""

from __future__ import annotations

import threading
from collections.abc import Generator
from typing import Any

import ray
import zmq
from torch import Tensor
from verl.workers.rollout.vllm_rollout import ServerAdapter

from bapo.engines.verl.worker import weight_update_seconds

_TAKES_WEIGHTS = "update_weights_from_ipc"


class BapoServerAdapter(ServerAdapter):  # type: ignore[misc]
    """A training process's end of the line to its vLLM server."""

    async def update_weights(self, weights: Generator[tuple[str, Tensor], None, None], **options: Any) -> None:
        """Hand the weights over. Raises RuntimeError where vLLM refuses them, or takes longer than it may."""
        self._refusal = ""
        try:
            await super().update_weights(weights, **options)
        except zmq.ContextTerminated:
            raise RuntimeError(self._refusal) from None

    async def _execute_method(self, method: str, *arguments: Any, **options: Any) -> Any:
        answer = await super()._execute_method(method, *arguments, **options)
        if method == _TAKES_WEIGHTS and answer is not None:
            threading.Thread(target=self._watch, args=(answer,), daemon=True).start()
        return answer

    def _watch(self, answer: ray.ObjectRef) -> None:
        """Stop the sender if the receiver fails, as nothing remains to wait for.

        verl's sender blocks until each portion is acknowledged, however long that takes, and looks at the receiver's
        error only afterwards. Ending its ZeroMQ context, which it does not share, interrupts that.
        """
        seconds = weight_update_seconds(self.config)
        ready, _ = ray.wait([answer], timeout=seconds)
        if not ready:
            self._refusal = f"no answer for {seconds} s, the most that engine.verl.weight_update_seconds allows"
        else:
            try:
                ray.get(answer)
                return
            except Exception as error:
                self._refusal = str(getattr(error, "cause", None) or error)
        zmq.Context.instance().term()
