"""A BAPO run on Ray, verl and vLLM: v ≠ m, re-evaluation, a changed threshold, a stop and a resume."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from bapo.config import RunConfig, resolve
from bapo.engines.verl.leftovers import PREFIXES, SHARED_MEMORY
from bapo.records import EvaluationRecord, EventRecord, StepRecord, TrackingRecord, metrics
from bapo.rollout import BatchSource
from bapo.run.artifacts import pack
from bapo.run.control import ControlRequest, append_request
from bapo.run.journal import merged_records
from tests.verl.replaying import decisions, replayed_decisions

NUM_STEPS, STOPPED_AFTER, CHANGED_AT = 8, 4, 3
V, M = 3, 2
BATCH_SIZE, GROUP_SIZE = 16, 8
FOLDER_VARIABLE = "TEST_RUN_FOLDER"
"""Inherited by every process that the trainer starts."""
SETTINGS = (
    "engine.type=verl",
    f"method.v={V}",
    f"method.m={M}",
    f"training.steps={NUM_STEPS}",
    f"training.batch_size={BATCH_SIZE}",
    "training.mini_batch_size=10",
    "training.checkpoint_interval=100",
    f"rollout.batch_size={BATCH_SIZE}",
    "loss.kl_coefficient=0.001",
    "loss.entropy_coefficient=0.001",
    "task.num_test=8",
    "tracking.num_prompts=16",
    "tracking.interval=100",
    "evaluation.num_samples=4",
    "evaluation.interval=100",
)


class Run(NamedTuple):
    folder: Path
    config: RunConfig
    exit_codes: Sequence[int]
    summaries: Sequence[Mapping[str, object]]
    leftovers: Sequence[str]

    @property
    def steps(self) -> list[StepRecord]:
        records = [record for record in merged_records(self.folder) if isinstance(record, StepRecord)]
        return sorted(records, key=lambda record: record.step)

    @property
    def events(self) -> list[EventRecord]:
        return [record for record in merged_records(self.folder) if isinstance(record, EventRecord)]


def _shared_memory() -> set[str]:
    return {path.name for path in SHARED_MEMORY.glob("*") if path.name.startswith(PREFIXES)}


def _processes(folder: Path) -> Iterator[psutil.Process]:
    """What a trainer of this folder has started and is still there: others may use Ray on this machine."""
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if process.environ().get(FOLDER_VARIABLE) == str(folder):
                yield process


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Trained in two attempts: the first is asked to stop, the second goes on."""
    folder = tmp_path_factory.mktemp("verl") / "run"
    folder.mkdir()
    append_request(folder, ControlRequest(id="a", author="test", at_step=CHANGED_AT, set={"method.c1": 0.25}))
    append_request(folder, ControlRequest(id="b", author="test", at_step=STOPPED_AFTER + 1, stop=True))
    assignments = [argument for setting in SETTINGS for argument in ("--set", setting)]
    shared_memory = _shared_memory()
    exit_codes, summaries = [], []
    for _ in range(2):
        trainer = subprocess.run(
            [sys.executable, "-m", "bapo", "train", "countdown-quick", *assignments, "--out", str(folder)],
            env=os.environ | {"OMP_NUM_THREADS": "1", FOLDER_VARIABLE: str(folder)},
            capture_output=True,
            text=True,
            check=False,
            timeout=1_500,
        )
        assert trainer.returncode in (0, 3), trainer.stdout[-2000:] + trainer.stderr[-6000:]
        exit_codes.append(trainer.returncode)
        summaries.append(json.loads(trainer.stdout.splitlines()[-1]))
    leftovers = [*(_shared_memory() - shared_memory), *(str(process) for process in _processes(folder))]
    config = resolve(json.loads((folder / "config.json").read_text())).config
    return Run(folder, config, exit_codes, summaries, leftovers)


def test_it_stops_when_asked_and_goes_on_to_the_end(run: Run) -> None:
    assert run.exit_codes == [3, 0]
    assert [summary["status"] for summary in run.summaries] == ["stopped", "succeeded"]
    assert [summary["steps"] for summary in run.summaries] == [STOPPED_AFTER, NUM_STEPS]
    assert [record.step for record in run.steps] == list(range(1, NUM_STEPS + 1))
    assert [record.attempt for record in run.steps] == [1] * STOPPED_AFTER + [2] * (NUM_STEPS - STOPPED_AFTER)


def test_requests_are_answered_in_the_journal(run: Run) -> None:
    answered = {event.event: event for event in run.events}
    assert answered["parameter_change"].data["applied_step"] == CHANGED_AT
    assert answered["stop"].data["id"] == "b"
    assert answered["resumed"].data["from_step"] == STOPPED_AFTER
    assert [record.thresholds and record.thresholds.c1 for record in run.steps] == [
        0.125,
        0.125,
        *[0.25] * (NUM_STEPS - 2),
    ]


def test_nothing_is_left_behind(run: Run) -> None:
    assert run.leftovers == []


def test_each_step_is_composed_as_the_algorithm_says(run: Run) -> None:
    for record in run.steps:
        counts = record.counts
        assert counts.x1 + (counts.x2 or 0) + (counts.x3 or 0) == counts.batch <= BATCH_SIZE
        assert counts.fresh == BATCH_SIZE
        trained = [visit.prompt_id for visit in record.prompts if visit.in_batch]
        assert len(trained) == len(set(trained)) == counts.batch
        assert sum(record.fresh_histogram) == counts.fresh
        assert sum(record.reevaluated_histogram) == counts.reevaluated
        assert (counts.improved or 0) + (counts.solved or 0) + (counts.still_difficult or 0) == (
            counts.reevaluated or 0
        )
        assert (counts.improved or 0) == (counts.x2 or 0) + (counts.surplus_stored or 0) + (counts.surplus_dropped or 0)
        assert ((counts.reevaluated or 0) > 0) <= (record.step % M == 0)
        for visit in record.prompts:
            if visit.source is BatchSource.FRESH and visit.in_batch:
                assert 0 < visit.num_correct < GROUP_SIZE
            if visit.source is BatchSource.REEVALUATED and visit.in_batch:
                assert record.thresholds is not None
                assert record.thresholds.difficult_max_count is not None
                assert record.thresholds.difficult_max_count < visit.num_correct < GROUP_SIZE
    assert sum((record.counts.x2 or 0) for record in run.steps) > 0
    assert sum((record.counts.x3 or 0) for record in run.steps) > 0


def test_each_group_comes_from_the_policy_that_the_algorithm_names(run: Run) -> None:
    # α is synchronised before the steps 3 and 6, to the weights after the steps 2 and 5.
    rollout_versions = [0, 0, 2, 2, 2, 5, 5, 5]
    assert [record.rollout_version for record in run.steps] == rollout_versions
    for record, version in zip(run.steps, rollout_versions, strict=True):
        for visit in record.prompts:
            if visit.source is BatchSource.FRESH:
                assert visit.policy_version == version
            elif visit.source is BatchSource.REEVALUATED:
                assert visit.policy_version == record.step - 1
            else:
                assert visit.policy_version in rollout_versions[max(0, record.step - 4) : record.step - 1] + list(
                    range(record.step - 4, record.step - 1)
                )


def test_the_library_decides_the_same_on_the_recorded_accuracies(run: Run) -> None:
    replayed = replayed_decisions(run.folder, run.config)
    for record in run.steps:
        assert decisions(record) == replayed[record.step], record.step


def test_each_update_is_measured(run: Run) -> None:
    for record in run.steps:
        update = record.update
        assert update is not None
        # ⌈n / 10⌉ mini-batches.
        assert update.num_mini_batches == -(-record.counts.batch // 10)
        assert sum(update.ratio_histogram) == update.num_tokens > 0
        assert update.kl >= 0
        assert update.entropy > 0
        assert update.grad_norm > 0
        present = {visit.source for visit in record.prompts if visit.in_batch}
        assert update.tv_tokens.keys() == update.tv_sequences.keys() == present
        if record.rollout_version == record.step - 1:
            # On policy, vLLM and the training process agree to their last digits.
            assert update.tv_tokens[BatchSource.FRESH] < 1e-5
        else:
            assert update.tv_tokens[BatchSource.FRESH] > 1e-4
        if BatchSource.REEVALUATED in present:
            # The current policy answered: had α been there instead, this would be as large as above.
            assert update.tv_tokens[BatchSource.REEVALUATED] < 1e-5
        # Measured where anything trained on was generated by the weights before the update, stale or not the rest.
        if record.rollout_version == record.step - 1 or BatchSource.REEVALUATED in present:
            assert update.logprob_gap is not None
            assert 0 < update.logprob_gap.mean <= update.logprob_gap.max < 1e-3
            assert 0 < update.logprob_gap.num_tokens <= update.num_tokens
            assert update.logprob_gap.outside_clip_range == 0
        else:
            assert update.logprob_gap is None


def test_evaluation_tracking_and_samples_are_recorded(run: Run) -> None:
    records = merged_records(run.folder)
    evaluations = [record for record in records if isinstance(record, EvaluationRecord)]
    assert [(record.step, record.dataset) for record in evaluations] == [
        (step, name) for step in (0, NUM_STEPS) for name in ("CD-34", "CD-4")
    ]
    tracked = [(record.step, record.replicate) for record in records if isinstance(record, TrackingRecord)]
    assert tracked == [(0, 0), (0, 1), (NUM_STEPS, 0)]
    lines = (run.folder / "attempt-2" / "samples.jsonl").read_text().splitlines()
    responses = [response for line in lines for response in json.loads(line).get("responses", ())]
    assert all(response["logprob_sum"] < 0 for response in responses)


def test_verls_own_phases_are_recorded_with_each_step(run: Run) -> None:
    for record in run.steps:
        values = metrics(record)
        seconds = {name: values.get(f"timing_s/verl/{name}") for name in ("gen", "reward", "adv", "update_actor")}
        assert all(value is not None and value > 0 for value in seconds.values())
        # Where there are several mini-batches, the later ones are measured before the update.
        assert "timing_s/verl/log_prob" in values or record.update is None or record.update.num_mini_batches == 1
        assert values["timing_s/verl/gen"] <= values["timing_s/gen"] + values.get("timing_s/reevaluation", 0.0)
        assert values["timing_s/verl/update_actor"] <= values["timing_s/update"]
    synced = [record.step for record in run.steps if "verl/update_weights" in record.timing]
    # α changes before the steps 3 and 6; where prompts are answered again in between, the current weights go and α
    # comes back for the next step.
    assert {3, 6} <= set(synced)


def test_a_downloaded_checkpoint_is_a_model_that_transformers_loads(run: Run, tmp_path: Path) -> None:
    import torch  # noqa: PLC0415
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    out = tmp_path / "model.zip"
    pack(run.folder, "checkpoint", NUM_STEPS, out)
    with zipfile.ZipFile(out) as archive:
        archive.extractall(tmp_path)
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "model", local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model", local_files_only=True)
    checkpoint = run.folder / "checkpoints" / f"step-{NUM_STEPS:06d}"
    trained = torch.load(checkpoint / "actor" / "model_world_size_1_rank_0.pt", weights_only=False)
    weights = model.state_dict()
    assert weights.keys() == trained.keys()
    for name, value in trained.items():
        assert torch.equal(weights[name], getattr(value, "_local_tensor", value)), name
    assert model.config.vocab_size == len(tokenizer)


def test_the_checkpoint_holds_a_model_folder_and_the_delayed_policy(run: Run) -> None:
    folder = run.folder / "checkpoints" / f"step-{NUM_STEPS:06d}"
    assert (folder / "actor" / "huggingface" / "model.safetensors").is_file()
    assert (folder / "rollout-model" / "rank-0-of-1.safetensors").is_file()
