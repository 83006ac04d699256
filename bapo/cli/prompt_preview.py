"""`bapo describe`: the prompts of a planned run as the model gets them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from bapo.cli.failures import plain_errors
from bapo.cli.output import JsonOption, clean, console, print_json
from bapo.cli.planned import planned_run
from bapo.config.task import TaskSection
from bapo.tasks import Problem, build_task


def describe(
    model: Annotated[str, typer.Argument(help="Folder of a Hugging Face model, or the name of a shipped one.")],
    data: Annotated[
        str, typer.Argument(help="Data file (.jsonl, .parquet), a recipe, or a run's folder, for its task.")
    ],
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Change a config field of the planned run; repeatable."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Training problems to show of each data source.")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Show prompts in the model's chat template, with their right answers and worked solutions.

    [bold]bapo describe countdown-base countdown-demo[/bold]
    """
    with plain_errors():
        config = planned_run(model, data, assignments or []).config
        shown = _previews(config.model.path, config.task, count)
    if as_json:
        print_json({"items": shown})
        return
    for each in shown:
        console().print(f"{each['prompt_id']}: {each['num_tokens']} tokens", style="bold")
        for label, key in (("prompt", "prompt"), ("answer", "answer"), ("worked solution", "solution")):
            if each[key]:
                console().print(f"{label}:", style="dim")
                console().print(Text(clean(str(each[key]))))
        console().print()


def _previews(model: str, section: TaskSection, count: int) -> list[dict[str, Any]]:
    # Imports PyTorch.
    from bapo.engines.local.policy import encode_problems, load_tokenizer, templated  # noqa: PLC0415

    tokenizer = load_tokenizer(model)
    problems = _some(build_task(section).train, count)
    texts, tokens = templated(tokenizer, problems), encode_problems(tokenizer, problems)
    return [
        {
            "prompt_id": problem.prompt_id,
            "messages": [turn._asdict() for turn in problem.messages],
            "prompt": text,
            "num_tokens": len(ids),
            "answer": dict(problem.answer),
            "solution": problem.solution,
        }
        for problem, text, ids in zip(problems, texts, tokens, strict=True)
    ]


def _some(problems: Sequence[Problem], count: int) -> list[Problem]:
    found: dict[str, list[Problem]] = {}
    for problem in problems:
        of_source = found.setdefault(problem.data_source, [])
        if len(of_source) < count:
            of_source.append(problem)
    return [problem for of_source in found.values() for problem in of_source]
