"""Local engine and verl engine do the same on the same model: answers, log-probabilities, rewards, one update."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import psutil
import pytest

from bapo.engines.base import BatchItem, Policy
from bapo.rollout import BatchSource, RolloutGroup
from bapo.tasks.base import Problem, Task
from tests.verl.comparing import (
    GROUP_SIZE,
    assert_equal_supervised_steps,
    assert_equal_updates,
    configured,
    local_group,
    rows,
    run_config,
)

NUM_PROBLEMS = 12


@pytest.fixture(scope="module")
def problems(task: Task) -> Sequence[Problem]:
    return task.train[:NUM_PROBLEMS]


def _local(task: Task, model: str = "countdown-base") -> Any:
    from bapo.engines.local.engine import LocalEngine  # noqa: PLC0415

    return LocalEngine(run_config(model__path=model), task)


def test_its_processes_compete_with_others_as_equals(verl_engine: Any) -> None:
    this = psutil.Process()
    workers = [each for each in this.children(recursive=True) if "ray::" in "".join(each.cmdline())]
    assert workers
    assert {each.nice() for each in workers} == {this.nice()}


def test_greedy_answers_and_rewards_agree(verl_engine: Any, task: Task) -> None:
    held_out = task.evaluation_sets["CD-34"]
    local = _local(task)
    assert list(verl_engine.greedy(held_out)) == list(local.greedy(held_out))
    payloads = verl_engine._roll_out(held_out, group_size=1, greedy=True, seeds=[0] * len(held_out), version=0)
    import torch  # noqa: PLC0415

    no_draws = torch.zeros(len(held_out), local._config.rollout.max_response_tokens, dtype=torch.float64)
    prefixes = local._prefixes(held_out, 1)
    sampled = local._sample(local._model, prefixes, no_draws, temperature=0.0, purpose="greedy answers")
    for payload, group, problem in zip(payloads, sampled, held_out, strict=True):
        answers = verl_engine.responses(RolloutGroup(problem.prompt_id, payload.rewards[0], 1, 0, 1, payload))
        assert [answer.text for answer in answers] == local._texts(group)


def test_prompts_are_the_same_tokens(verl_engine: Any, task: Task, problems: Sequence[Problem]) -> None:
    groups = verl_engine.generate(problems, group_size=1, policy=Policy.CURRENT, step=1, purpose="prompts").groups
    local = _local(task)
    assert [tuple(row.tolist()) for row in rows(groups)["prompts"].unbind()] == [
        local._prompts[problem.prompt_id] for problem in problems
    ]


def test_log_probabilities_of_sampled_answers_agree(verl_engine: Any, task: Task, problems: Sequence[Problem]) -> None:
    import torch  # noqa: PLC0415

    from bapo.engines.local.forward import response_logprobs  # noqa: PLC0415
    from bapo.engines.verl.rows import Rows  # noqa: PLC0415

    groups = verl_engine.generate(
        problems, group_size=GROUP_SIZE, policy=Policy.CURRENT, step=1, purpose="sampled"
    ).groups
    local = _local(task)
    logprobs, _ = verl_engine._trainer.logprobs(Rows.of([BatchItem(group, BatchSource.FRESH) for group in groups]))
    trained = iter(logprobs)
    for group in groups:
        payload = local_group(group).payload
        with torch.no_grad():
            expected, _ = response_logprobs(local._model, [payload], temperature=1.0, entropy_gradient=False)
        # vLLM's own, and those of the training process.
        torch.testing.assert_close(payload.sampled.logprobs, expected, atol=1e-4, rtol=0)
        own = torch.cat([next(trained) for _ in group.payload.responses])
        torch.testing.assert_close(own, expected, atol=1e-4, rtol=0)


def test_equal_seeds_draw_equally(verl_engine: Any, problems: Sequence[Problem]) -> None:
    first, second, other = (
        [answer.text for group in generation.groups for answer in verl_engine.responses(group)]
        for generation in (
            verl_engine.generate(problems, group_size=GROUP_SIZE, policy=Policy.CURRENT, step=step, purpose="draw")
            for step in (1, 1, 2)
        )
    )
    assert first == second != other


def test_one_call_for_several_steps_draws_as_a_call_for_each(verl_engine: Any, problems: Sequence[Problem]) -> None:
    batches = {3: problems[:2], 4: problems[1:4]}
    ahead = verl_engine.generate_ahead(batches, group_size=GROUP_SIZE)
    for step, asked in batches.items():
        alone = verl_engine.generate(asked, group_size=GROUP_SIZE, policy=Policy.ROLLOUT, step=step, purpose="rollout")
        assert [group.prompt_id for group in ahead[step].groups] == [problem.prompt_id for problem in asked]
        assert {(group.step, group.policy_version) for group in ahead[step].groups} == {
            (step, alone.groups[0].policy_version)
        }
        assert [[answer.text for answer in verl_engine.responses(group)] for group in ahead[step].groups] == [
            [answer.text for answer in verl_engine.responses(group)] for group in alone.groups
        ]
        assert ahead[step].stats.num_tokens == alone.stats.num_tokens
    # The call's time is the first step's.
    assert ahead[3].stats.timing["verl/gen"] > 0
    assert ahead[4].stats.timing == {}


def test_one_update_on_a_batch_of_mixed_age_has_the_same_gradient(
    verl_engine: Any, problems: Sequence[Problem], tmp_path: Path
) -> None:
    from benchmarks.gpu_acceptance.verl import digest  # noqa: PLC0415

    old = verl_engine.generate(problems, group_size=GROUP_SIZE, policy=Policy.ROLLOUT, step=1, purpose="old").groups
    of_base = digest(verl_engine)
    verl_engine.update([BatchItem(group, BatchSource.FRESH) for group in old], step=1)
    new = verl_engine.generate(
        problems[: NUM_PROBLEMS // 2], group_size=GROUP_SIZE, policy=Policy.CURRENT, step=2, purpose="new"
    ).groups
    of_current = digest(verl_engine)

    # α is what it was, bit for bit, after the current policy has generated.
    verl_engine.generate(problems[:1], group_size=2, policy=Policy.ROLLOUT, step=2, purpose="delayed")
    assert digest(verl_engine) == of_base != of_current

    # What a checkpoint keeps is enough to train on: the old groups go through one.
    stored = old[NUM_PROBLEMS // 2 :]
    (tmp_path / "stored").mkdir()
    verl_engine.save(tmp_path / "stored", stored)
    for group, payload in zip(stored, verl_engine.load(tmp_path / "stored"), strict=True):
        object.__setattr__(group, "payload", payload)
    batch = [
        *(BatchItem(group, BatchSource.REEVALUATED) for group in new),
        *(BatchItem(group, BatchSource.REUSED) for group in stored),
    ]
    stats = assert_equal_updates(verl_engine, batch, run_config(), tmp_path)
    assert stats.ratio_max > 1.05  # the batch is off policy
    # The gap is that of the new groups alone, from vLLM's kernels to those of the training process.
    assert stats.logprob_gap.num_tokens == sum(group.payload.num_tokens for group in new)
    assert 0 < stats.logprob_gap.mean <= stats.logprob_gap.max < 1e-4
    assert stats.logprob_gap.outside_clip_range == 0


def test_parts_of_groups_with_given_advantages_have_the_same_gradient(
    verl_engine: Any, problems: Sequence[Problem], tmp_path: Path
) -> None:
    groups = _off_policy_groups(verl_engine, problems)
    # Some responses relative to one another, some with the method's own advantages, the rest of a group as it is.
    batch = [
        *(BatchItem(group, BatchSource.FRESH, (0, 3)) for group in groups[:4]),
        *(BatchItem(group, BatchSource.REUSED, (2, 1, 0), (0.5, -1.0, 0.25)) for group in groups[4:8]),
        BatchItem(groups[8], BatchSource.REUSED, None, (1.0, 0.0, 0.0, -2.0)),
        *(BatchItem(group, BatchSource.FRESH) for group in groups[9:]),
    ]
    stats = assert_equal_updates(verl_engine, batch, run_config(), tmp_path)
    trained = [response.length for item in batch for response in _trained(item)]
    assert stats.num_tokens == sum(trained)


def test_a_ratio_of_whole_responses_has_the_same_gradient(
    verl_engine: Any, problems: Sequence[Problem], tmp_path: Path
) -> None:
    changes = {"loss__ratio_level": "sequence", "loss__clip_low": 0.02, "loss__clip_high": 0.03}
    config = run_config(**changes, loss__aggregation="response-mean")
    batch = [BatchItem(group, BatchSource.REUSED) for group in _off_policy_groups(verl_engine, problems)]
    with configured(verl_engine, config):
        assert assert_equal_updates(verl_engine, batch, config, tmp_path).clip_fraction > 0


def test_ratios_of_whole_responses_are_to_log_probabilities_of_the_training_processes(
    verl_engine: Any, problems: Sequence[Problem]
) -> None:
    import torch  # noqa: PLC0415

    from bapo.engines.verl.rows import Rows  # noqa: PLC0415
    from bapo.engines.verl.worker import ROLLOUT  # noqa: PLC0415

    _off_policy_groups(verl_engine, problems)
    sequence = run_config(method={"type": "gspo"})
    answered: list[RolloutGroup] = []
    for policy in Policy:
        with configured(verl_engine, sequence):
            groups = verl_engine.generate(problems, group_size=2, policy=policy, step=10, purpose="rollout").groups
        # Bit for bit those of the weights that generated; vLLM's differ in their last digits.
        batch = Rows.of([BatchItem(group, BatchSource.FRESH) for group in groups])
        with verl_engine._trainer.weights_of(ROLLOUT) if policy is Policy.ROLLOUT else nullcontext():
            again, _ = verl_engine._trainer.logprobs(batch)
        assert all(
            torch.equal(one, other)
            for one, other in zip(again, rows(groups)["rollout_log_probs"].unbind(), strict=True)
        )
        answered += groups
    # What was replaced shows the gap, α's as well; the update has none to measure, for both are the trainer's.
    with configured(verl_engine, sequence):
        gap = verl_engine.update([BatchItem(group, BatchSource.FRESH) for group in groups], step=10).logprob_gap
        assert gap.num_tokens == sum(group.payload.num_tokens for group in answered)
        assert 0 < gap.mean <= gap.max < 1e-4
        assert verl_engine.update([BatchItem(groups[0], BatchSource.FRESH)], step=11).logprob_gap is None


def test_weights_go_to_vllm_only_where_it_does_not_hold_them(
    verl_engine: Any, problems: Sequence[Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    trainer = verl_engine._trainer
    to_vllm = {name: getattr(trainer, f"hold_{name}_weights") for name in ("current", "rollout")}
    for name, call in to_vllm.items():

        def send(version: int, name: str = name, call: Any = call) -> None:
            sent.append(name)
            call(version)

        monkeypatch.setattr(trainer, f"hold_{name}_weights", send)

    def generate(*policies: Policy) -> list[str]:
        """What was sent for a generation with each of these policies in turn."""
        sent.clear()
        for policy in policies:
            generated = verl_engine.generate(problems[:2], group_size=2, policy=policy, step=1, purpose="tracking")
            # A step's record has the time of what was sent, and nothing where nothing was.
            assert ("verl/update_weights" in generated.stats.timing) == bool(sent) or len(policies) > 1
        return [*sent]

    def update() -> None:
        verl_engine.update([BatchItem(group, BatchSource.FRESH) for group in answered], step=1)

    answered = verl_engine.generate(problems[:2], group_size=2, policy=Policy.CURRENT, step=1, purpose="sent").groups
    verl_engine.sync_rollout_policy(20)
    # α is the current policy, whose weights vLLM holds; they stay α's after an update.
    assert generate(Policy.ROLLOUT, Policy.CURRENT) == []
    update()
    assert generate(Policy.ROLLOUT, Policy.ROLLOUT) == []
    # The current weights once, for a re-evaluation or an evaluation, and α again behind them.
    assert generate(Policy.CURRENT, Policy.CURRENT, Policy.ROLLOUT, Policy.ROLLOUT) == ["current", "rollout"]
    # α has changed.
    verl_engine.sync_rollout_policy(21)
    assert generate(Policy.ROLLOUT, Policy.ROLLOUT, Policy.CURRENT) == ["current"]
    # As on a GPU, where vLLM gives up its weights for an update.
    monkeypatch.setattr(verl_engine, "_sleeps", True)
    update()
    assert generate(Policy.ROLLOUT, Policy.ROLLOUT) == ["rollout"]


def test_a_penalty_on_long_responses_has_the_same_gradient(
    verl_engine: Any, problems: Sequence[Problem], tmp_path: Path
) -> None:
    config = run_config(method={"type": "dapo", "overlong_buffer_tokens": 12}, loss__entropy_coefficient=0.0)
    batch = [BatchItem(group, BatchSource.FRESH) for group in _off_policy_groups(verl_engine, problems)]
    with configured(verl_engine, config):
        assert_equal_updates(verl_engine, batch, config, tmp_path)


def test_a_penalty_to_the_base_model_and_a_shifted_clip_range_have_the_same_gradient(
    verl_engine: Any, problems: Sequence[Problem], tmp_path: Path
) -> None:
    method = {"type": "remix", "updates_per_batch": 1, "kl_base_share": 0.7}
    config = run_config(method=method, loss__clip_low=0.02, loss__clip_high=0.03)
    groups = _off_policy_groups(verl_engine, problems)
    # A resumed run has the same reference: the model that it began with.
    (tmp_path / "resumed").mkdir()
    verl_engine.save(tmp_path / "resumed", ())
    verl_engine.load(tmp_path / "resumed")
    batch = [BatchItem(group, BatchSource.REUSED) for group in groups]
    with configured(verl_engine, config):
        stats = assert_equal_updates(verl_engine, batch, config, tmp_path)
    assert stats.reference_kl > 0
    # Before the first update the range lies around the ratios, far as these are from 1.
    assert stats.ratio_max > 1.05
    assert stats.clip_fraction == 0


def test_groups_with_demonstrations_have_the_same_gradient(
    verl_engine: Any, problems: Sequence[Problem], tmp_path: Path
) -> None:
    config = run_config(method={"type": "luffy"})
    with configured(verl_engine, config):
        groups = _off_policy_groups(verl_engine, problems)
        assert all(group.has_demonstration for group in groups)
        # The last without its demonstration.
        batch = [BatchItem(group, BatchSource.FRESH, None, (-0.5, 0.5, -1.0, 0.0), 2.0) for group in groups[:-1]]
        batch.append(BatchItem(groups[-1], BatchSource.FRESH))
        stats = assert_equal_updates(verl_engine, batch, config, tmp_path)
    assert stats.demonstrations.num_responses == NUM_PROBLEMS - 1
    assert stats.num_tokens == sum(group.payload.num_tokens for group in groups)


def test_a_supervised_step_has_the_same_gradient_and_leaves_the_rollout_policy(
    verl_engine: Any, problems: Sequence[Problem], tmp_path: Path
) -> None:
    from benchmarks.gpu_acceptance.verl import digest  # noqa: PLC0415

    config = run_config(method={"type": "relift"})
    verl_engine.sync_rollout_policy(0)
    with configured(verl_engine, config):
        verl_engine.generate(problems[:1], group_size=2, policy=Policy.ROLLOUT, step=2, purpose="before")
        of_rollout = digest(verl_engine)
        assert_equal_supervised_steps(verl_engine, [problem.prompt_id for problem in problems[:5]], config, tmp_path)
        verl_engine.generate(problems[:1], group_size=2, policy=Policy.CURRENT, step=3, purpose="current")
        assert digest(verl_engine) != of_rollout
        verl_engine.generate(problems[:1], group_size=2, policy=Policy.ROLLOUT, step=3, purpose="delayed")
        assert digest(verl_engine) == of_rollout


def test_a_machine_is_judged_by_whether_weights_reach_vllm_exactly(verl_engine: Any, task: Task) -> None:
    from benchmarks.gpu_acceptance.local import Sizes  # noqa: PLC0415
    from benchmarks.gpu_acceptance.verl import of_engine  # noqa: PLC0415

    made = list(of_engine(verl_engine, task, Sizes(num_prompts=4, group_size=GROUP_SIZE), "cpu"))
    judged = [check for check in made if check.bound is not None]
    assert len(judged) == 5
    assert [check for check in judged if not check.passed] == []
    assert {check.unit for check in made} >= {"s", "response tokens/s", "MiB"}


def _off_policy_groups(verl_engine: Any, problems: Sequence[Problem]) -> Sequence[RolloutGroup]:
    """Generated before the latest update."""
    groups: Sequence[RolloutGroup] = verl_engine.generate(
        problems, group_size=GROUP_SIZE, policy=Policy.CURRENT, step=9, purpose="off-policy"
    ).groups
    verl_engine.update([BatchItem(group, BatchSource.FRESH) for group in groups], step=9)
    return groups


def _trained(item: BatchItem) -> Sequence[Any]:
    responses: Sequence[Any] = item.group.payload.responses
    return responses if item.responses is None else [responses[position] for position in item.responses]
