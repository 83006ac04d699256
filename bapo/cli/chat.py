"""`bapo chat`: ask a model something, or the models of a run."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from bapo.cli.failures import RefusedError, plain_errors
from bapo.cli.output import JsonOption, clean, console, notes, print_json
from bapo.run.chat import ChatModel, models_of
from bapo.run.checkpoint import CHECKPOINTS_FOLDER
from bapo.run.run_folder import read_config
from bapo.tasks import Problem, build_task


def chat(
    target: Annotated[
        str, typer.Argument(metavar="RUN|MODEL", help="Folder of a run, or a model: its folder or its name.")
    ],
    prompts: Annotated[
        list[str] | None,
        typer.Option("--prompt", "-p", help="Message to answer; repeatable. Default: asks until Ctrl-D."),
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=1, help="Length in tokens at which an answer is cut.")] = 256,
    temperature: Annotated[float, typer.Option(min=0, max=10, help="Sampling temperature; 0: the likeliest.")] = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Ask a model something. Of a run, the base model, its warm start and its newest checkpoint answer side by side.

    Each message begins a new chat. The models run on the CPU.

    [bold]bapo chat smollm2-135m --prompt "What is 3 + 4?"[/bold]
    """
    with plain_errors():
        # Imports PyTorch.
        import torch  # noqa: PLC0415

        from bapo.engines.local.answering import answer  # noqa: PLC0415
        from bapo.engines.local.policy import load_language_model  # noqa: PLC0415

        cpu = torch.device("cpu")
        models = {each.name: load_language_model(each.path, cpu) for each in _models(target)}
        for prompt in prompts or _typed():
            asked = Problem(prompt, "chat", prompt, {})
            answers = {
                name: answer(model, asked, max_tokens=max_tokens, temperature=temperature).text
                for name, model in models.items()
            }
            if as_json:
                print_json({"prompt": prompt, "answers": answers})
            else:
                _show(prompt, answers)


def _models(target: str) -> Sequence[ChatModel]:
    """Return the models that answer."""
    run = Path(target).expanduser()
    if not (run / CHECKPOINTS_FOLDER).is_dir():
        return [ChatModel(target, target)]
    config = read_config(run)
    models = models_of(run, config, build_task(config.task))
    if "trained" not in models:
        raise RefusedError(
            f"RUN = {target!r}: it has no checkpoint with a model: train it further, or name another run"
        )
    return list(models.values())


def _typed() -> Iterator[str]:
    """Yield the lines that a person types, without empty ones."""
    while True:
        if sys.stdin.isatty():
            notes().print("> ", end="")
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()


def _show(prompt: str, answers: Mapping[str, str]) -> None:
    if not console().is_terminal:
        parts: Sequence[str] = [f"{name}: {clean(text)}" for name, text in answers.items()]
        print(f"prompt: {clean(prompt)}", *parts, "", sep="\n")
        return
    made = Table(*answers, expand=True, show_lines=True)
    made.add_row(*map(clean, answers.values()))
    console().print(made)
