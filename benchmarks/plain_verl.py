"""verl's own GRPO, by its own trainer and `fit`, on the problems and settings of a run's config.

    .venv-verl/bin/python -m benchmarks.plain_verl CONFIG.json OUT.jsonl ['{"trainer.logger": ["file", "bapo"]}']

Called by benchmarks.verl_step_time, and observed in the tests: the last argument changes settings of verl's. One line
of OUT per step: verl's own metrics, `timing_s/step` among them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bapo.config import RunConfig, resolve
from bapo.tasks import build_task
from bapo.tasks.base import Problem

POLL_SECONDS = 0.1
"""Interval at which verl checks whether rollouts are done; its default, 2 s, would lengthen steps of a few seconds."""


def reward(data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None, **_: Any) -> float:
    """Return the reward of our runs' verifier; verl loads this function from this file."""
    from bapo.config.task import CountdownTaskConfig  # noqa: PLC0415
    from bapo.tasks import verifier  # noqa: PLC0415

    problem = Problem("", data_source, "", json.loads(ground_truth))
    return float(verifier(CountdownTaskConfig())(problem, solution_str))


def write_problems(problems: list[Problem], path: Path) -> None:
    """Write the problems as a parquet file with verl's columns."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    rows = [
        {
            "data_source": problem.data_source,
            "prompt": [{"role": "user", "content": problem.prompt}],
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": json.dumps(dict(problem.answer))},
            "extra_info": {"index": index},
        }
        for index, problem in enumerate(problems)
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)


def plain_settings(config: RunConfig, model_folder: str, problems: Path, further: Mapping[str, Any]) -> Any:
    """Return the settings of our own engine, with verl's defaults restored where ours differ in kind."""
    from omegaconf import OmegaConf, open_dict  # noqa: PLC0415

    from bapo.engines.verl.settings import verl_settings  # noqa: PLC0415

    settings = verl_settings(config, model_folder=model_folder, on_cpu=True)
    changes = {
        "algorithm.adv_estimator": "grpo",
        "algorithm.rollout_correction.bypass_mode": False,
        "actor_rollout_ref.actor.use_kl_loss": False,
        # With FSDP2 and an untied output layer, they need what our engine changes (bapo/engines/verl/patches.py).
        "actor_rollout_ref.model.use_fused_kernels": False,
        "data.train_files": str(problems),
        "data.val_files": str(problems),
        "data.dataloader_num_workers": 0,
        "data.seed": config.training.seed,
        "reward.num_workers": 1,
        "reward.custom_reward_function.path": str(Path(__file__).resolve()),
        "reward.custom_reward_function.name": "reward",
        "trainer.total_training_steps": config.training.steps,
        "trainer.total_epochs": 1_000,
        "trainer.val_before_train": False,
        "trainer.test_freq": -1,
        "trainer.save_freq": -1,
        "trainer.logger": ["file"],
        **further,
    }
    with open_dict(settings):
        for path, value in changes.items():
            OmegaConf.update(settings, path, value, force_add=True)
    return settings


def main() -> None:
    """Train."""
    config_file, out = Path(sys.argv[1]), Path(sys.argv[2])
    further = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
    config = resolve(json.loads(config_file.read_text())).config
    from bapo.engines.verl.environment import prepare_environment  # noqa: PLC0415
    from bapo.engines.verl.versions import check_versions  # noqa: PLC0415

    os.environ["VERL_FILE_LOGGER_PATH"] = str(out)
    prepare_environment(config, check_versions())

    if "bapo" in further.get("trainer.logger", ()):
        # An installed package needs no import: verl finds it by its entry point.
        import bapo.observe.verl  # noqa: F401, PLC0415
    import transfer_queue as tq  # noqa: PLC0415
    from verl.trainer.ppo.v1 import AgentLoopManagerTQ  # noqa: PLC0415
    from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync  # noqa: PLC0415
    from verl.workers.rollout.replica import RolloutReplicaRegistry  # noqa: PLC0415

    from bapo.engines.local.policy import model_folder  # noqa: PLC0415
    from bapo.engines.verl.cluster import Cluster  # noqa: PLC0415
    from bapo.engines.verl.vllm_cpu import CpuReplica  # noqa: PLC0415

    problems = out.with_name("problems.parquet")
    write_problems(list(build_task(config.task).train), problems)
    settings = plain_settings(config, str(model_folder(config.model.path)), problems, further)
    cluster = Cluster(config, on_cpu=True)
    try:
        tq.init(settings.transfer_queue)
        RolloutReplicaRegistry.register("vllm", lambda: CpuReplica)
        trainer = PPOTrainerSync(settings)
        trainer.replay_buffer.poll_interval = POLL_SECONDS
        trainer.init()
        manager = AgentLoopManagerTQ.create(
            config=settings,
            llm_client=trainer.get_llm_client(),
            teacher_client=None,
            reward_loop_worker_handles=trainer.get_reward_handles(),
        )
        trainer.fit(manager)
    finally:
        cluster.close()


if __name__ == "__main__":
    main()
