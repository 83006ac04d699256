from __future__ import annotations

import resource
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bapo.config import ConfigError, RunConfig, apply_changes
from bapo.engines.base import BatchItem, Engine, Generation, Policy
from bapo.rollout import BatchSource, RolloutGroup, prompt_identity
from bapo.run.checkpoint import CheckpointError, newest_sound, write_checkpoint
from bapo.tasks.base import Problem
from tests.support.late_imports import late_imports

with late_imports():
    import torch
    from transformers import AutoModelForTokenClassification

    from bapo.engines.local.engine import LocalEngine
    from bapo.engines.local.policy import load_language_model


class DigitTask:
    """Problems of one to three digits; a response is right when the number of its digits is even."""

    name = "digits"

    def __init__(self) -> None:
        self.train: Sequence[Problem] = [self._problem(text) for text in ("1", "23", "45", "678", "9", "02")]
        self.evaluation_sets: Mapping[str, Sequence[Problem]] = {"held-out": [self._problem("77")]}

    def _problem(self, text: str) -> Problem:
        return Problem(prompt_identity("digits", text), "digits", text, {"text": text})

    num_reward_failures = 0

    def reward(self, problem: Problem, response_text: str) -> int:
        return int(sum(character.isdigit() for character in response_text) % 2 == 0)


TASK = DigitTask()


def make_engine(folder: Path, **changes: Any) -> LocalEngine:
    settings: dict[str, Any] = {
        "model.path": str(folder),
        "rollout.max_response_tokens": 8,
        "rollout.max_prompt_tokens": 5,
        "training.learning_rate": 0.01,
        "training.steps": 1,
    }
    settings |= {name.replace("__", "."): value for name, value in changes.items()}
    return LocalEngine(RunConfig.model_validate(apply_changes({}, settings)), TASK)


@pytest.fixture
def engine(toy_folder: Path) -> LocalEngine:
    return make_engine(toy_folder)


def generate(engine: Engine, policy: Policy = Policy.ROLLOUT, *, step: int = 1, purpose: str = "rollout") -> Generation:
    return engine.generate(TASK.train, group_size=6, policy=policy, step=step, purpose=purpose)


def items(generation: Generation) -> list[BatchItem]:
    return [BatchItem(group, BatchSource.FRESH) for group in generation.groups]


def tokens(groups: Sequence[RolloutGroup]) -> list[list[list[int]]]:
    return [group.payload.sampled.responses() for group in groups]


def equal(one: Generation, other: Generation) -> bool:
    """Same tokens and, bit for bit, same log-probabilities."""
    return one.stats == other.stats and all(
        torch.equal(a.payload.sampled.logprobs, b.payload.sampled.logprobs)
        and torch.equal(a.payload.sampled.token_ids, b.payload.sampled.token_ids)
        for a, b in zip(one.groups, other.groups, strict=True)
    )


def test_groups_come_in_order_with_verified_rewards(engine: LocalEngine) -> None:
    generation = generate(engine, step=4)
    assert [group.prompt_id for group in generation.groups] == [problem.prompt_id for problem in TASK.train]
    for problem, group in zip(TASK.train, generation.groups, strict=True):
        responses = engine.responses(group)
        assert [response.reward for response in responses] == [
            TASK.reward(problem, response.text) for response in responses
        ]
        assert (group.num_correct, group.group_size, group.step) == (sum(r.reward for r in responses), 6, 4)
        assert "<eos>" not in "".join(response.text for response in responses)


def test_statistics_describe_the_responses(engine: LocalEngine) -> None:
    generation = generate(engine)
    responses = [response for group in tokens(generation.groups) for response in group]
    lengths = [len(response) for response in responses]
    assert generation.stats.num_tokens == sum(lengths)
    assert generation.stats.response_length_mean == sum(lengths) / 36
    assert generation.stats.response_length_max == max(lengths)
    assert generation.stats.response_clip_ratio == pytest.approx(sum(r[-1] != 1 for r in responses) / 36)


def test_response_samples_carry_text_and_probability(engine: LocalEngine) -> None:
    group = generate(engine).groups[0]
    (first, *_) = engine.responses(group)
    length = group.payload.sampled.lengths[0]
    assert first.num_tokens == length
    assert first.logprob_sum == pytest.approx(float(group.payload.sampled.logprobs[:length].sum()))


def test_draws_are_keyed_by_seed_step_and_purpose(engine: LocalEngine, toy_folder: Path) -> None:
    first = generate(engine)
    generate(engine, step=2)
    assert equal(first, generate(engine))  # whatever was drawn in between
    assert not equal(first, generate(engine, step=2))
    assert not equal(first, generate(engine, purpose="tracking:0"))
    assert not equal(first, generate(make_engine(toy_folder, training__seed=43)))


def test_rollout_policy_stays_until_it_is_synchronised(engine: LocalEngine) -> None:
    before = generate(engine)
    engine.update(items(before), step=1)
    assert equal(before, generate(engine))
    assert not equal(before, generate(engine, Policy.CURRENT))
    engine.update(items(generate(engine, step=2)), step=2)
    assert equal(before, generate(engine))
    engine.sync_rollout_policy(2)
    assert equal(generate(engine), generate(engine, Policy.CURRENT))
    synchronised = generate(engine)
    engine.update(items(generate(engine, step=3)), step=3)
    assert equal(synchronised, generate(engine))


def test_generating_with_the_current_policy_leaves_the_rollout_policy_bit_for_bit(engine: LocalEngine) -> None:
    engine.update(items(generate(engine)), step=1)
    before = generate(engine)
    generate(engine, Policy.CURRENT, step=2, purpose="reevaluation")
    engine.greedy(TASK.train)
    assert equal(before, generate(engine))


def test_groups_name_the_version_of_the_policy_that_generated_them(engine: LocalEngine) -> None:
    def versions(policy: Policy, step: int) -> set[int]:
        return {group.policy_version for group in generate(engine, policy, step=step).groups}

    assert versions(Policy.ROLLOUT, 1) == {0}
    engine.update(items(generate(engine)), step=1)
    assert (versions(Policy.ROLLOUT, 2), versions(Policy.CURRENT, 2)) == ({0}, {1})
    engine.sync_rollout_policy(4)
    assert (versions(Policy.ROLLOUT, 5), versions(Policy.CURRENT, 6)) == ({4}, {5})


def test_on_policy_groups_have_ratio_one(engine: LocalEngine) -> None:
    stats = engine.update(items(generate(engine)), step=1)
    assert stats.ratio_max == pytest.approx(1, abs=2e-5)
    assert stats.clip_fraction == 0
    assert stats.tv_tokens[BatchSource.FRESH] < 1e-5
    # What is left is the numerical error between sampling with a cache and the pass of training.
    gap = stats.logprob_gap
    assert gap is not None
    assert 0 < gap.mean <= gap.max < 2e-5
    assert (gap.outside_clip_range, gap.num_tokens) == (0, stats.num_tokens)
    off_policy = engine.update(items(generate(engine, step=2)), step=2)
    assert off_policy.tv_tokens[BatchSource.FRESH] > 1e-3
    assert off_policy.logprob_gap is None


def test_bfloat16_is_of_forward_passes_alone(toy_folder: Path) -> None:
    engine = make_engine(toy_folder, engine__dtype="bfloat16")
    generated = generate(engine)
    assert not equal(generated, generate(make_engine(toy_folder)))
    assert generated.groups[0].payload.sampled.logprobs.dtype == torch.float32
    stats = engine.update(items(generated), step=1)
    # bfloat16 has 8 significant bits: sampling with a cache and the pass of training may differ in the third digit.
    assert stats.logprob_gap is not None
    assert stats.logprob_gap.mean <= stats.logprob_gap.max < 0.05
    assert {parameter.dtype for parameter in engine._model.parameters()} == {torch.float32}
    # The rounded weights of before the update are used no more.
    engine.sync_rollout_policy(1)
    assert engine.update(items(generate(engine, step=2)), step=2).ratio_max == pytest.approx(1, abs=0.05)


def test_rounded_weights_are_for_rollouts_alone(toy_folder: Path) -> None:
    engine = make_engine(toy_folder, engine__rollout_weights="bfloat16")
    generated = generate(engine)
    assert not equal(generated, generate(make_engine(toy_folder)))
    assert generated.groups[0].payload.sampled.logprobs.dtype == torch.float32
    stats = engine.update(items(generated), step=1)
    # Here training computes with all digits, so that the whole error of the other side is seen.
    assert stats.logprob_gap is not None
    assert 1e-3 < stats.logprob_gap.mean < 0.05
    assert stats.logprob_gap.max < 0.25
    assert {parameter.dtype for parameter in engine._model.parameters()} == {torch.float32}
    # The next rollouts are those of the new weights.
    engine.sync_rollout_policy(1)
    assert engine.update(items(generate(engine, step=2)), step=2).ratio_max == pytest.approx(1, abs=0.25)


def test_greedy_answers_are_rewarded(engine: LocalEngine, toy_folder: Path) -> None:
    rewards = engine.greedy(TASK.train)
    loaded = load_language_model(str(toy_folder), torch.device("cpu"))
    for problem, reward in zip(TASK.train, rewards, strict=True):
        sequence = [19, *(3 + int(digit) for digit in problem.prompt), 19]  # "=" is 19, "0" is 3
        answer: list[int] = []
        while len(answer) < 8 and answer[-1:] != [1]:
            answer.append(int(loaded.model(input_ids=torch.tensor([sequence + answer])).logits[0, -1].argmax()))
        response = loaded.tokenizer.decode(answer, skip_special_tokens=True)
        assert isinstance(response, str)
        assert reward == TASK.reward(problem, response)


def test_an_empty_batch_is_refused(engine: LocalEngine) -> None:
    with pytest.raises(ValueError, match="the training batch is empty"):
        engine.update([], step=1)


@pytest.mark.parametrize(
    ("is_synchronised", "changes"),
    [
        (False, {}),
        (True, {}),
        (False, {"method__type": "ppo"}),
        # The reference of a resumed run is the model that the run began with, not its checkpoint.
        (False, {"loss__kl_coefficient": 0.1, "loss__kl_to": "reference"}),
        (False, {"engine__dtype": "bfloat16", "method__type": "ppo"}),
        (False, {"engine__rollout_weights": "bfloat16"}),
    ],
)
def test_a_restored_engine_goes_on_bit_for_bit(
    toy_folder: Path, tmp_path: Path, is_synchronised: bool, changes: dict[str, Any]
) -> None:
    engine = make_engine(toy_folder, **changes)
    engine.update(items(generate(engine)), step=1)
    stored = generate(engine, step=2).groups
    engine.update(items(generate(engine, step=2)), step=2)
    if is_synchronised:
        engine.sync_rollout_policy(2)
    engine.save(tmp_path, stored)

    restored = make_engine(toy_folder, **changes)
    payloads = restored.load(tmp_path)
    groups = [
        RolloutGroup(group.prompt_id, group.num_correct, 6, group.policy_version, group.step, payload)
        for group, payload in zip(stored, payloads, strict=True)
    ]
    assert tokens(groups) == tokens(stored)
    batches = [items(Generation(each, generate(engine).stats)) for each in (stored, groups)]
    for step in (3, 4):
        for policy in Policy:
            one, other = (generate(each, policy, step=step) for each in (engine, restored))
            assert equal(one, other)
            assert [g.policy_version for g in one.groups] == [g.policy_version for g in other.groups]
        assert engine.update(batches[0], step=step) == restored.update(batches[1], step=step)


def test_a_checkpoint_holds_a_model_folder_to_start_from(engine: LocalEngine, tmp_path: Path) -> None:
    engine.update(items(generate(engine)), step=1)
    engine.save(tmp_path, [])
    continued = make_engine(tmp_path / "model")
    assert equal(generate(engine, Policy.CURRENT), generate(continued))


def test_a_critic_is_saved_as_a_model_folder_beside_the_policy(toy_folder: Path, tmp_path: Path) -> None:
    engine = make_engine(toy_folder, method__type="ppo")
    # A step makes α differ, so that all three models are there.
    engine.update(items(generate(engine)), step=1)
    engine.save(tmp_path, [])
    critic = AutoModelForTokenClassification.from_pretrained(tmp_path / "critic", local_files_only=True)
    assert critic.config.num_labels == 1
    assert critic.score.weight.abs().max() > 0
    assert (tmp_path / "model").is_dir()
    assert (tmp_path / "rollout-model").is_dir()


def test_a_disk_that_takes_no_more_leaves_the_checkpoint_before(engine: LocalEngine, tmp_path: Path) -> None:
    before = write_checkpoint(tmp_path, 1, lambda folder: engine.save(folder, []), keep=2)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # No file beyond 10 kB: the toy model's weights take 60.
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(CheckpointError, match=r"checkpoint of step 2 into .* File too large"):
            write_checkpoint(tmp_path, 2, lambda folder: engine.save(folder, []), keep=2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert newest_sound(tmp_path) == (before, [])
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-000001"]


def test_nothing_in_a_checkpoint_is_pickled(engine: LocalEngine, tmp_path: Path) -> None:
    generation = generate(engine)
    engine.update(items(generation), step=1)
    engine.save(tmp_path, generation.groups)
    suffixes = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert suffixes == {".json", ".safetensors", ".jinja"}


@pytest.mark.parametrize(("limit", "is_refused"), [(5, False), (4, True)])
def test_prompts_beyond_the_limit_are_refused(toy_folder: Path, limit: int, is_refused: bool) -> None:
    # "678" within its template has five tokens.
    if not is_refused:
        make_engine(toy_folder, rollout__max_prompt_tokens=limit)
        return
    with pytest.raises(ConfigError, match=r"rollout\.max_prompt_tokens = 4: the prompt '678' has 5 tokens: allow at"):
        make_engine(toy_folder, rollout__max_prompt_tokens=limit)


@pytest.mark.parametrize(("limit", "is_refused"), [(123, False), (124, True)])
def test_responses_beyond_the_context_are_refused(toy_folder: Path, limit: int, is_refused: bool) -> None:
    # The toy model's context has 128 tokens, the longest prompt 5.
    if not is_refused:
        make_engine(toy_folder, rollout__max_response_tokens=limit)
        return
    with pytest.raises(ConfigError, match=r"exceeds the model's context of 128: give at most 123"):
        make_engine(toy_folder, rollout__max_response_tokens=limit)


def test_a_context_that_a_prompt_alone_fills_is_refused(toy_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(toy_folder, tmp_path / "short")
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(
        config.replace('"max_position_embeddings": 128', '"max_position_embeddings": 5')
    )
    with pytest.raises(ConfigError, match=r"the model's context of 5 tokens is full with the prompt '678' of 5"):
        make_engine(folder)


def test_a_gpu_that_is_not_there_is_refused(toy_folder: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA GPU")
    with pytest.raises(
        ConfigError, match=r"engine\.device = 'cuda': PyTorch \S+ finds no CUDA GPU here \(.+\): update"
    ):
        make_engine(toy_folder, engine__device="cuda")


@pytest.mark.parametrize("wanted", ["auto", "cuda"])
def test_a_driver_that_is_too_old_is_named_where_a_gpu_would_lie_idle(
    toy_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    # As PyTorch's build for CUDA says it; no such driver is here.
    told = "The NVIDIA driver on your system is too old (found version 12020). Please update your GPU driver."

    def init() -> None:
        raise RuntimeError(told)

    monkeypatch.setattr(torch.cuda, "init", init)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr("bapo.engines.local.device._DRIVER", tmp_path)
    with pytest.raises(ConfigError, match=r"too old \(found version 12020\)\): update the driver, or install"):
        make_engine(toy_folder, engine__device=wanted)
    # A worker that gives a run no GPU hides them.
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    make_engine(toy_folder, engine__device="auto")


def test_a_missing_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model\.path = .* does not exist"):
        make_engine(tmp_path / "nowhere")


def test_utilisation_is_in_bytes_and_percent(engine: LocalEngine) -> None:
    values = engine.utilisation()
    assert 50e6 < values["memory_bytes"] <= values["memory_peak_bytes"]
    assert values["cpu_percent"] >= 0


def _poison(engine: LocalEngine, value: float) -> None:
    with torch.no_grad():
        next(engine._model.parameters())[5, 0] = value


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_responses_without_probabilities_end_the_run_with_their_step(engine: LocalEngine, value: float) -> None:
    _poison(engine, value)
    with pytest.raises(ConfigError, match=r"model\.path = .* NaN or infinite \(rollout of step 7\)"):
        generate(engine, step=7)
    with pytest.raises(ConfigError, match="greedy answers"):
        engine.greedy(TASK.train)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_an_update_that_is_not_finite_ends_the_run_before_anything_moves(engine: LocalEngine, value: float) -> None:
    batch = items(generate(engine))
    before = engine._model.state_dict()["model.norm.weight"].clone()
    _poison(engine, value)
    with pytest.raises(ConfigError, match=r"training\.learning_rate = 0\.01: in step 4, the .* is (nan|inf)"):
        engine.update(batch, step=4)
    assert torch.equal(engine._model.state_dict()["model.norm.weight"], before)


@pytest.mark.parametrize("whose", ["policy", "critic"])
def test_a_gradient_that_is_not_finite_moves_nothing(toy_folder: Path, whose: str) -> None:
    """The loss is a number, and its gradient is none, as where a square root is taken of 0."""
    engine = make_engine(toy_folder, method__type="ppo")
    batch = items(generate(engine))
    model = engine._model
    if whose == "critic":
        assert engine._critic is not None
        model = engine._critic.model
    weights = next(model.parameters())
    weights.register_hook(lambda gradient: gradient * float("nan"))
    before = weights.detach().clone()
    with pytest.raises(ConfigError, match=f"in step 4, the norm of the gradient of the {whose} is nan"):
        engine.update(batch, step=4)
    assert torch.equal(weights, before)
