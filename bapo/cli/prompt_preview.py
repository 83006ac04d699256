"""`bapo describe`: the prompts of a planned run as the model gets them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.text import Text

from bapo.cli.failures import plain_errors
from bapo.cli.output import JsonOption, clean, console, print_json
from bapo.cli.planned import planned_run
from bapo.run.prompt_preview import PromptPreview, prompt_previews


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
        shown = prompt_previews(config, count).items
    if as_json:
        print_json({"items": [_plain(each) for each in shown]})
        return
    for each in shown:
        console().print(f"{each.prompt_id}: {each.num_tokens} tokens", style="bold")
        for label, text in (("prompt", each.prompt), ("answer", each.answer), ("worked solution", each.solution)):
            if text:
                console().print(f"{label}:", style="dim")
                console().print(Text(clean(str(text))))
        console().print()


def _plain(preview: PromptPreview) -> dict[str, Any]:
    return asdict(preview) | {"messages": [turn._asdict() for turn in preview.messages]}
