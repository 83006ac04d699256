"""What goes wrong in verl's processes ends with one sentence that says what helps, and leaves nothing behind.

In the order of the file: each fault leaves the engine usable for the next, and the last one does not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bapo.engines.base import BatchItem, Policy
from bapo.rollout import BatchSource
from bapo.tasks.base import Problem, Task
from tests.verl.comparing import GROUP_SIZE, configured, run_config
from tests.verl.conftest import WEIGHT_UPDATE_SECONDS

VERIFIER = '''
def reward(problem, response):
    """Raises on every second response, and takes every other one."""
    reward.calls += 1
    if reward.calls % 2:
        raise KeyError("no such row")
    return 1
reward.calls = 0
'''


@pytest.fixture(scope="module")
def problems(task: Task) -> Sequence[Problem]:
    return task.train[:4]


@pytest.fixture(scope="module")
def engine(verl_engine: Any) -> Iterator[Any]:
    """The shared engine, which is of no use after these tests."""
    yield verl_engine
    verl_engine.close()


def _in_vllm(engine: Any, function: Callable[..., None], *arguments: Any) -> None:
    """Run a function, which must be a local one, in vLLM's worker."""
    import ray  # noqa: PLC0415

    for replica in engine._trainer.llm_server_manager.get_replicas():
        ray.get([server.collective_rpc.remote(function, args=arguments) for server in replica.servers])


def _generate(engine: Any, problems: Sequence[Problem], *, step: int = 1) -> Sequence[Any]:
    groups: Sequence[Any] = engine.generate(
        problems, group_size=GROUP_SIZE, policy=Policy.CURRENT, step=step, purpose="test"
    ).groups
    return groups


def _break_weight_updates(engine: Any, *, after_seconds: float) -> None:
    """From now on vLLM's worker refuses weights, that much later."""

    def plant(worker: Any, seconds: float) -> None:
        import time  # noqa: PLC0415

        def refuse(*_: Any, **__: Any) -> None:
            time.sleep(seconds)
            raise ValueError("size mismatch for lm_head.weight")

        # The worker, not the wrapper that vLLM hands in.
        worker.worker._update_weights = refuse

    _in_vllm(engine, plant, after_seconds)
    engine._held = None


def test_a_response_whose_verifier_raises_gets_no_reward_and_is_counted(
    engine: Any, problems: Sequence[Problem], tmp_path: Path
) -> None:
    verifier = tmp_path / "own.py"
    verifier.write_text(VERIFIER)
    failures = engine.utilisation()["num_reward_failures"]
    with configured(engine, run_config(engine__type="verl", task__verifier=f"{verifier}:reward")):
        groups = _generate(engine, problems)
    # One worker verifies all 16 responses, one after the other.
    assert sum(group.num_correct for group in groups) == len(problems) * GROUP_SIZE // 2
    assert engine.utilisation()["num_reward_failures"] - failures == len(problems) * GROUP_SIZE // 2


def test_memory_that_runs_out_in_the_update_is_named_with_what_helps(
    engine: Any, problems: Sequence[Problem], capfd: pytest.CaptureFixture[str]
) -> None:
    def out_of_memory(*_: Any, **__: Any) -> None:
        """A local function travels whole."""
        import torch  # noqa: PLC0415

        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 1.00 GiB free.")

    groups = _generate(engine, problems)
    engine._trainer.actor_rollout_wg.set_loss_fn(out_of_memory)
    with pytest.raises(RuntimeError) as caught:
        engine.update([BatchItem(group, BatchSource.FRESH) for group in groups], step=1)
    assert str(caught.value).startswith("the update failed: out of memory (")
    assert "Tried to allocate 2.00 GiB" in str(caught.value)
    assert "lower training.micro_batch_tokens" in str(caught.value)
    # The last lines of each process stand in the trainer's log.
    assert "--- worker-" in capfd.readouterr().err


def test_weights_that_vllm_refuses_end_the_run_at_once(
    engine: Any, problems: Sequence[Problem], capfd: pytest.CaptureFixture[str]
) -> None:
    _break_weight_updates(engine, after_seconds=0)
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match=r"vLLM did not take new weights: .*Worker failed"):
        _generate(engine, problems)
    assert time.monotonic() - begin < WEIGHT_UPDATE_SECONDS
    # verl's own cleaning up fails after it, and covers it in the message.
    assert "size mismatch for lm_head.weight" in capfd.readouterr().err


def test_weights_that_vllm_does_not_answer_for_end_after_the_configured_time(
    engine: Any, problems: Sequence[Problem]
) -> None:
    _break_weight_updates(engine, after_seconds=WEIGHT_UPDATE_SECONDS + 5)
    begin = time.monotonic()
    with pytest.raises(
        RuntimeError, match=f"no answer for {WEIGHT_UPDATE_SECONDS} s, .* engine.verl.weight_update_seconds"
    ):
        _generate(engine, problems)
    assert WEIGHT_UPDATE_SECONDS <= time.monotonic() - begin < WEIGHT_UPDATE_SECONDS + 30


def test_memory_that_runs_out_in_generating_is_named_with_what_helps(engine: Any, problems: Sequence[Problem]) -> None:
    def plant(worker: Any) -> None:
        def execute_model(*_: Any, **__: Any) -> None:
            import torch  # noqa: PLC0415

            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.00 GiB.")

        worker.model_runner.execute_model = execute_model

    _in_vllm(engine, plant)
    engine._held = engine._current
    with pytest.raises(RuntimeError, match=r"generating failed: out of memory .*gpu_memory_utilization"):
        _generate(engine, problems)
