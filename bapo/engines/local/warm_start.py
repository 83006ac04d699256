"""Warm start: supervised training of a model on right responses, so that RL has something to reinforce.

A trace is a training problem with a response that its verifier accepts: the problem's worked solution, or one of the
base model's own. Held-out problems are evaluated before and after; none of them is learned from.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Literal

import torch
import transformers
from transformers import PreTrainedTokenizerBase

from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.config.warm_start import NUM_ANSWERS, NUM_SAMPLES, SupervisedRecipe
from bapo.draws import generator, seed_of
from bapo.engines.local.demonstrations import Trace, TraceMaker
from bapo.engines.local.device import device_of
from bapo.engines.local.model_card import trace_card
from bapo.engines.local.policy import LanguageModel, encode_problems, load_language_model, model_folder
from bapo.engines.local.prompts import encode_task
from bapo.engines.local.sampling import draw_uniforms, sample
from bapo.engines.local.supervised import Example, TrainingProgress, mean_loss, train_on
from bapo.evaluation import EvaluationFigures, figures
from bapo.tasks import Task
from bapo.tasks.base import Problem, has_images

TraceSource = Literal["solutions", "base"]
HELD_OUT_SHARE, MOST_HELD_OUT = 0.1, 32
"""Share and largest number of traces that are not learned from."""
LEAST_TRACES = 8
MOST_OF_A_PROBLEM = 2
"""Right responses of the base to one problem that are learned from: easy problems would have them all."""
BASE_CARD = "BASE_MODEL.md"
SUMMARY_FILE = "warm_start.json"
_LICENCES = ("LICENSE*", "LICENCE*", "NOTICE*")
_DRAWS = 0
"""Seed of responses in evaluations: a model is answered for by the same draws each time."""


@dataclass(frozen=True, slots=True)
class WarmStartReport:
    """The model made, and what it can do."""

    folder: Path
    num_parameters: int
    final_loss: float
    """Mean of the last steps, at most 50, nats per response token."""
    cpu_seconds: float
    """CPU time of training, without evaluation, in seconds."""
    wall_seconds: float
    evaluation: Mapping[str, EvaluationFigures]
    """By held-out set."""
    evaluation_before: Mapping[str, EvaluationFigures] = field(default_factory=dict)
    """Those of the base; empty for a model made from scratch."""
    held_out_loss: float | None = None
    """Loss on traces that were not learned from, nats per response token; None for a model made from scratch."""
    held_out_loss_before: float | None = None
    traces: TraceCounts | None = None


@dataclass(frozen=True, slots=True)
class TraceCounts:
    """Source of the traces, and their numbers."""

    source: TraceSource
    num_learned: int
    num_held_out: int
    num_wrong: int
    """Solutions or responses that the verifier rejected."""
    num_too_long: int
    """Right ones longer than `rollout.max_response_tokens`."""
    seconds: float


def warm_start(
    config: RunConfig,
    task: Task,
    out_dir: Path,
    *,
    on_progress: Callable[[TrainingProgress], None] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> WarmStartReport:
    """Train the config's model on traces of its task, and write it to `out_dir` with model card and `warm_start.json`.

    Of the source `base`, the model answers problems at a temperature that may be lower than the run's. `say` hears of
    each part before it begins; what it or `on_progress` raises ends the warm start with nothing written.

    Raises:
        ConfigError: the model or the data cannot be used, `out_dir` holds files, or there are too few traces.
    """
    require_empty(out_dir)
    section = config.warm_start
    recipe = section.recipe
    torch.set_num_threads(config.engine.threads)
    if has_images(task):
        raise _problem("task", config.task.type, "a warm start reads text alone, and its problems have images")
    say("loading the model")
    base = load_language_model(config.model.path, device_of(config))
    context = getattr(base.model.config, "max_position_embeddings", None)
    prompts = encode_task(task, base.tokenizer, config.rollout, context)
    limit = config.rollout.max_response_tokens

    begin = time.perf_counter()
    maker = TraceMaker(base.tokenizer, task, limit)
    source = section.source
    if source == "auto":
        source = "solutions" if any(problem.solution for problem in task.train) else "base"
    wanted = recipe.num_steps * recipe.batch_size + MOST_HELD_OUT
    problems = list(task.train)
    generator(recipe.seed, 0, "warm start traces").shuffle(problems)
    if source == "solutions":
        traces = maker.of_solutions(problems, wanted)
    else:
        say(f"the base answers {section.num_answered} problems × {NUM_ANSWERS}")
        traces = _of_responses(maker, base, problems[: section.num_answered], config)
    learned, held_out = _divided(traces)
    if len(learned) < LEAST_TRACES:
        raise _too_few(source, len(traces), maker)
    trace_seconds = time.perf_counter() - begin

    sets = task.evaluation_sets or {"train": _others(task.train, traces)}
    num_of_each = max(1, section.num_evaluated // len(sets))

    def measured(what: str) -> tuple[float, dict[str, EvaluationFigures]]:
        loss = mean_loss(base.model, _examples(held_out, prompts), padding=_padding(base.tokenizer))
        found = {}
        for name, each in sets.items():
            if chosen := each[:num_of_each]:
                say(f"evaluating {what} on {len(chosen)} problems of {name} × {NUM_SAMPLES}")
                found[name] = evaluate(base, task, chosen, max_response_tokens=limit, num_samples=NUM_SAMPLES)
        return loss, found

    loss_before, before = measured("the base")
    say(f"learning from {len(learned)} traces")
    begin_cpu, begin_wall = time.process_time(), time.perf_counter()
    losses = train_on(
        base.model,
        lambda step: _examples(_batch(learned, recipe, step), prompts),
        recipe,
        padding=_padding(base.tokenizer),
        on_progress=on_progress,
    )
    cpu_seconds, wall_seconds = time.process_time() - begin_cpu, time.perf_counter() - begin_wall
    loss_after, after = measured("the model")
    report = WarmStartReport(
        folder=out_dir,
        num_parameters=base.model.num_parameters(),
        final_loss=fmean(losses[-50:]),
        cpu_seconds=cpu_seconds,
        wall_seconds=wall_seconds,
        evaluation=after,
        evaluation_before=before,
        held_out_loss=loss_after,
        held_out_loss_before=loss_before,
        traces=TraceCounts(source, len(learned), len(held_out), maker.num_wrong, maker.num_too_long, trace_seconds),
    )
    _write(report, base, config)
    return report


def require_empty(out_dir: Path) -> None:
    """Raise ConfigError where the folder holds files already."""
    if out_dir.exists() and any(out_dir.iterdir()):
        raise _problem("--out", str(out_dir), "the folder is not empty: name a new one")


def _of_responses(
    maker: TraceMaker, base: LanguageModel, problems: Sequence[Problem], config: RunConfig
) -> list[Trace]:
    """Return right responses of the base, at most `MOST_OF_A_PROBLEM` to each problem."""
    texts = _responses(
        base,
        problems,
        group_size=NUM_ANSWERS,
        temperature=config.warm_start.temperature,
        max_response_tokens=config.rollout.max_response_tokens,
        seed=seed_of(config.warm_start.seed, 0, "warm start responses"),
    )
    groups = zip(problems, texts, strict=True)
    return [trace for problem, each in groups for trace in maker.accepted(problem, each)[:MOST_OF_A_PROBLEM]]


def evaluate(
    language_model: LanguageModel,
    task: Task,
    problems: Sequence[Problem],
    *,
    max_response_tokens: int,
    num_samples: int = 8,
    with_greedy: bool = False,
) -> EvaluationFigures:
    """Evaluate the problems: `num_samples` responses each at temperature 1, maybe a greedy one; draws are fixed."""

    def num_correct(group_size: int, temperature: float) -> list[int]:
        texts = _responses(
            language_model,
            problems,
            group_size=group_size,
            temperature=temperature,
            max_response_tokens=max_response_tokens,
            seed=seed_of(_DRAWS, 0, "base model"),
        )
        return [sum(task.reward(problem, text) for text in each) for problem, each in zip(problems, texts, strict=True)]

    greedy = num_correct(1, 0.0) if with_greedy else None
    return figures(num_correct(num_samples, 1.0), num_samples, greedy_rewards=greedy)


def evaluation_summary(measured: EvaluationFigures) -> dict[str, object]:
    """Return the figures of a held-out set as JSON values."""
    return {
        "num_problems": measured.num_problems,
        "num_samples": measured.num_samples,
        "avg_at_k": measured.avg_at_k.model_dump(),
        **({} if measured.greedy is None else {"greedy": measured.greedy.model_dump()}),
        "pass_at": {str(k): interval.model_dump() for k, interval in measured.pass_at.items()},
        "share_none_correct": measured.share_none_correct,
        "share_all_correct": measured.share_all_correct,
    }


def versions() -> dict[str, str]:
    """Return the versions of the libraries that a model was made with."""
    return {"torch": torch.__version__, "transformers": transformers.__version__}


def _responses(
    language_model: LanguageModel,
    problems: Sequence[Problem],
    *,
    group_size: int,
    temperature: float,
    max_response_tokens: int,
    seed: int,
) -> list[list[str]]:
    generator = torch.Generator().manual_seed(seed)
    groups = sample(
        language_model.model,
        encode_problems(language_model.tokenizer, problems),
        draw_uniforms(len(problems) * group_size, max_response_tokens, generator),
        temperature=temperature,
        top_p=1.0,
        top_k=-1,
        eos_token_ids=language_model.eos_token_ids,
    )
    return [language_model.tokenizer.batch_decode(group.responses(), skip_special_tokens=True) for group in groups]


def _divided(traces: Sequence[Trace]) -> tuple[list[Trace], list[Trace]]:
    """Return the traces to learn from and those held out; no problem has some of both."""
    num_held_out = min(MOST_HELD_OUT, max(1, round(HELD_OUT_SHARE * len(traces))))
    withheld = {trace.problem.prompt_id for trace in traces[:num_held_out]}
    learned = [trace for trace in traces if trace.problem.prompt_id not in withheld]
    return learned, [trace for trace in traces if trace.problem.prompt_id in withheld]


def _others(problems: Sequence[Problem], traces: Sequence[Trace]) -> list[Problem]:
    """Return training problems that no trace is of, to be evaluated where a task holds out none."""
    used = {trace.problem.prompt_id for trace in traces}
    return [problem for problem in problems if problem.prompt_id not in used]


def _batch(traces: Sequence[Trace], recipe: SupervisedRecipe, step: int) -> list[Trace]:
    """Return the traces of a step: one shuffled pass over all after the other."""
    first = (step - 1) * recipe.batch_size
    places = range(first, first + recipe.batch_size)
    orders: dict[int, list[int]] = {}
    for epoch in {place // len(traces) for place in places}:
        orders[epoch] = list(range(len(traces)))
        generator(recipe.seed, epoch, "warm start epoch").shuffle(orders[epoch])
    return [traces[orders[place // len(traces)][place % len(traces)]] for place in places]


def _examples(traces: Sequence[Trace], prompts: Mapping[str, tuple[int, ...]]) -> list[Example]:
    return [Example(prompts[trace.problem.prompt_id], trace.response) for trace in traces]


def _padding(tokenizer: PreTrainedTokenizerBase) -> int:
    padding = tokenizer.pad_token_id
    return int(tokenizer.eos_token_id if padding is None else padding)


def _write(report: WarmStartReport, model: LanguageModel, config: RunConfig) -> None:
    """Write the model's folder, with the licence and the card of its base."""
    assert report.traces is not None, "of a model that was not made from scratch"
    report.folder.mkdir(parents=True, exist_ok=True)
    model.model.save_pretrained(report.folder)
    model.tokenizer.save_pretrained(report.folder)
    base = model_folder(config.model.path)
    for path in _base_files(base):
        shutil.copyfile(path, report.folder / (BASE_CARD if path.name == "README.md" else path.name))
    summary = {
        # A path of this machine says nothing elsewhere.
        "base": base.name,
        "task": config.task.model_dump(mode="json"),
        "recipe": asdict(config.warm_start.recipe),
        "traces": asdict(report.traces),
        "num_parameters": report.num_parameters,
        "final_loss": round(report.final_loss, 4),
        "held_out_loss_before": report.held_out_loss_before,
        "held_out_loss": report.held_out_loss,
        "cpu_seconds": round(report.cpu_seconds, 1),
        "wall_seconds": round(report.wall_seconds, 1),
        "versions": versions(),
        "evaluation_before": {name: evaluation_summary(each) for name, each in report.evaluation_before.items()},
        "evaluation": {name: evaluation_summary(each) for name, each in report.evaluation.items()},
    }
    (report.folder / SUMMARY_FILE).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    (report.folder / "README.md").write_text(trace_card(summary), encoding="utf-8")


def _base_files(base: Path) -> Iterator[Path]:
    yield from (path for pattern in ("README.md", *_LICENCES) for path in base.glob(pattern) if path.is_file())


def _too_few(source: TraceSource, num_traces: int, maker: TraceMaker) -> ConfigError:
    others = f"{maker.num_wrong} were judged wrong, {maker.num_too_long} are longer than rollout.max_response_tokens"
    remedy = (
        "name the column of worked solutions (task.solution_column), take a task that knows them, such as gsm_symbolic "
        "or chain_sum, or learn from the base's own responses (base)"
        if source == "solutions"
        else "learn from worked solutions (solutions), lower warm_start.temperature, or take easier problems"
    )
    return _problem("warm_start.source", source, f"only {num_traces} right responses were found ({others}): {remedy}")


def _problem(field: str, value: object, remedy: str) -> ConfigError:
    return ConfigError([ConfigProblem(field, value, remedy)])
