"""`bapo export`: metrics, records and the run list as files for other programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from bapo.api.runs import RunDetail, RunFilters
from bapo.cli.complete import complete_metrics
from bapo.cli.connection import online
from bapo.cli.failures import Exit, RefusedError
from bapo.cli.lazy import group
from bapo.cli.listing import write_csv
from bapo.cli.output import say
from bapo.cli.run_lookup import RunArgument, RunsArgument, find_run, find_runs
from bapo.cli.runs import FilterOptions, SortOption
from bapo.cli.streams import data_output
from bapo.client import Client

app = group("Export metrics, records or the run list to files.")

KEYS_AT_ONCE = 200


class Format(StrEnum):
    """Format of a file."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


OutOption = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="File to write. Default: standard output.")
]
FormatOption = Annotated[Format | None, typer.Option("--format", help="Default: by the file name, else csv.")]
Row = Mapping[str, Any]


@app.command("metrics")
@online
def metrics(
    client: Client,
    runs: RunsArgument,
    keys: Annotated[
        str | None,
        typer.Option(
            help="Metrics, separated by commas; a name may end in *. Default: all.",
            autocompletion=complete_metrics,
        ),
    ] = None,
    out: OutOption = None,
    form: FormatOption = None,
) -> None:
    """Export metrics: one line per step of each run, one column per metric.

    [bold]bapo export metrics kzx3 m2v8 --keys "critic/rewards/*,bapo/batch/*" -o metrics.parquet[/bold]
    """
    found = find_runs(client, runs)
    names = sorted({key for run in found for key in client.metric_keys(run.id).items if _is_wanted(key, keys)})
    if not names:
        raise RefusedError(f"no metric of these runs matches {keys!r}: leave out --keys for all", Exit.FAILED)
    _write(["run_id", "run", "step", *names], _steps(client, found, names), out, form)


def _is_wanted(key: str, wanted: str | None) -> bool:
    if wanted is None:
        return True
    parts = (part.strip() for part in wanted.split(","))
    return any(key.startswith(part[:-1]) if part.endswith("*") else key == part for part in parts)


def _steps(client: Client, runs: Sequence[RunDetail], names: Sequence[str]) -> Iterator[Row]:
    for run in runs:
        rows: dict[int, dict[str, Any]] = {}
        for begin in range(0, len(names), KEYS_AT_ONCE):
            series = client.metrics(run.id, names[begin : begin + KEYS_AT_ONCE])
            for index, step in enumerate(series.steps):
                row = rows.setdefault(step, {"run_id": run.id, "run": run.name, "step": step})
                row |= {key: column[index] for key, column in series.columns.items()}
        yield from (rows[step] for step in sorted(rows))


@app.command("records")
@online
def records(
    client: Client,
    run: RunArgument,
    kind: Annotated[
        str | None, typer.Option("--type", help="step, evaluation, tracking or event. Default: all.")
    ] = None,
    out: OutOption = None,
) -> None:
    """Export the records of a run as the trainer wrote them, one JSON object per line.

    [bold]bapo export records kzx3 --type evaluation > evaluations.jsonl[/bold]
    """
    run_id = find_run(client, run).id
    lines = (
        json.dumps(record) + "\n"
        for page in client.pages(client.records, run_id, type=kind, limit=500)
        for record in page.items
    )
    if out is None:
        data_output().writelines(lines)
    else:
        with out.open("w", encoding="utf-8") as file:
            file.writelines(lines)


@app.command("runs")
@online
def run_list(
    client: Client,
    filters: FilterOptions,
    sort: SortOption = "-created_at",
    columns: Annotated[
        str | None,
        typer.Option(help="Config fields and metrics to add, separated by commas: config.FIELD, metric.KEY."),
    ] = None,
    out: OutOption = None,
    form: FormatOption = None,
) -> None:
    """Export the run list, with the filters of `bapo runs`.

    [bold]bapo export runs --tag ablation -o ablation.csv[/bold]
    """
    given = filters.given()
    recorded = [name.strip() for name in (columns or "").split(",") if name.strip()]
    if _format(out, form) is Format.CSV:
        # The server's own table, in which no text is a formula.
        _write_text(client.runs_csv(RunFilters.model_validate(given), sort=sort, columns=recorded), out)
        return
    rows = [
        run.model_dump(mode="json", exclude={"values"}) | {name: run.values.get(name) for name in recorded}
        for page in client.pages(client.runs, sort=sort, limit=500, columns=recorded, **given)
        for run in page.items
    ]
    _write(list(rows[0]) if rows else [], rows, out, form)


def _format(out: Path | None, form: Format | None) -> Format:
    if form is not None:
        return form
    suffix = "" if out is None else out.suffix[1:].lower()
    return Format(suffix) if suffix in set(Format) else Format.CSV


def _write(columns: Sequence[str], rows: Iterable[Row], out: Path | None, form: Format | None) -> None:
    match _format(out, form):
        case Format.PARQUET:
            _write_parquet(columns, rows, out)
        case Format.JSON:
            _write_text(json.dumps([dict(row) for row in rows], indent=1) + "\n", out)
        case Format.CSV:
            if out is None:
                _write_csv(columns, rows, data_output())
            else:
                with out.open("w", newline="", encoding="utf-8") as file:
                    _write_csv(columns, rows, file)
    if out is not None:
        say(f"wrote {out}")


def _write_csv(columns: Sequence[str], rows: Iterable[Row], file: Any) -> None:
    write_csv(columns, ([row.get(column) for column in columns] for row in rows), file)


def _write_parquet(columns: Sequence[str], rows: Iterable[Row], out: Path | None) -> None:
    if out is None:
        raise RefusedError("Parquet cannot be printed: name a file with --out FILE")
    import pyarrow as pa  # noqa: PLC0415 - slow to import
    from pyarrow import parquet  # noqa: PLC0415

    held = [dict(row) for row in rows]
    # Texts of any shape, such as tags, become JSON: a column has one type.
    arrays = {column: [_flat(row.get(column)) for row in held] for column in columns}
    parquet.write_table(pa.table(arrays), out)


def _flat(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value


def _write_text(text: str, out: Path | None) -> None:
    if out is None:
        data_output().write(text)
    else:
        out.write_text(text, encoding="utf-8")
