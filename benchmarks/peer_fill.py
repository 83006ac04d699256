"""Runs for another tool to show, written in its own environment: nothing of ours is imported here.

    python peer_fill.py TOOL FOLDER charts CURVES.json COPIES
    python peer_fill.py TOOL FOLDER list COUNT

`charts`: the runs of CURVES.json, each metric's values by step, and each run so many times more. `list`: so many runs
of one point. The first of each are logged by the tool's own calls; further ones are copies of what these left on disk,
with names and identifiers of their own, as copies of our runs are rows of ours. Aim, whose files name the run within,
logs all. Prints one JSON line: what an address needs to show them.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

Values = Mapping[str, Sequence[float]]
"""Values of a run by metric, one per step."""
Fill = Callable[[Path, Sequence[Values], int], dict[str, Any]]
PROJECT = "pages"
BATCH = 1_000
"""Metrics that MLflow takes in one call."""


def names(runs: Sequence[Values], copies: int) -> Iterator[tuple[int, list[str]]]:
    """Yield each run's number with its name and those of its copies."""
    for number in range(len(runs)):
        yield number, [f"run-{number}-{copy:05}" for copy in range(copies + 1)]


def num_steps(values: Values) -> int:
    """Return the number of steps of a run."""
    return len(next(iter(values.values())))


def tensorboard(folder: Path, runs: Sequence[Values], copies: int) -> dict[str, Any]:
    """Write a folder of events for each run."""
    from tensorboard.summary import Writer  # noqa: PLC0415

    for number, (first, *others) in names(runs, copies):
        writer = Writer(str(folder / first))
        for metric, values in runs[number].items():
            for step, value in enumerate(values, start=1):
                writer.add_scalar(metric, value, step)
        writer.close()
        for other in others:
            shutil.copytree(folder / first, folder / other)
    return {}


def mlflow(folder: Path, runs: Sequence[Values], copies: int) -> dict[str, Any]:
    """Write an experiment to SQLite."""
    import mlflow as tool  # noqa: PLC0415
    from mlflow.entities import Metric  # noqa: PLC0415

    tool.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    experiment = tool.set_experiment(PROJECT).experiment_id
    client = tool.MlflowClient()
    known: list[tuple[str, list[str]]] = []
    for number, (first, *others) in names(runs, copies):
        run = client.create_run(experiment, run_name=first)
        points = (
            Metric(metric, value, run.info.start_time + 1_000 * step, step)
            for metric, values in runs[number].items()
            for step, value in enumerate(values, start=1)
        )
        while batch := list(islice(points, BATCH)):
            client.log_batch(run.info.run_id, metrics=batch)
        client.set_terminated(run.info.run_id)
        known.append((run.info.run_id, others))
    with sqlite3.connect(folder / "mlflow.db") as database:
        for run_id, others in known:
            tables = ("runs", "tags", "latest_metrics", "metrics")
            copy_rows(database, tables, "run_uuid", run_id, others)
    return {"experiment": experiment}


def trackio(folder: Path, runs: Sequence[Values], copies: int) -> dict[str, Any]:
    """Write a project to SQLite."""
    os.environ.update(TRACKIO_DIR=str(folder), HF_HUB_OFFLINE="1")
    import trackio as tool  # noqa: PLC0415

    for number, (first, *_) in names(runs, copies):
        tool.init(project=PROJECT, name=first, embed=False, auto_log_gpu=False, auto_log_cpu=False)
        for step in range(num_steps(runs[number])):
            tool.log({metric: values[step] for metric, values in runs[number].items()}, step=step + 1)
        tool.finish()
    with sqlite3.connect(folder / f"{PROJECT}.db") as database:
        for _, (first, *others) in names(runs, copies):
            [(run_id,)] = database.execute("SELECT DISTINCT run_id FROM metrics WHERE run_name = ?", [first])
            tables = ("configs", "metrics")
            copy_rows(database, tables, "run_id", run_id, others)
    return {}


def aim(folder: Path, runs: Sequence[Values], copies: int) -> dict[str, Any]:
    """Fill a repository with two processes, since one takes minutes."""
    from aim.sdk.repo import Repo  # noqa: PLC0415

    Repo.from_path(str(folder), init=True)
    tasks = [(str(folder), name, runs[number]) for number, called in names(runs, copies) for name in called]
    with get_context("spawn").Pool(2) as pool:
        pool.starmap(aim_run, tasks, chunksize=1 + len(tasks) // 100)
    return {}


def aim_run(folder: str, name: str, values: Values) -> None:
    """Log one run."""
    from aim import Run  # noqa: PLC0415

    run = Run(
        repo=folder,
        experiment=PROJECT,
        system_tracking_interval=None,
        log_system_params=False,
        capture_terminal_logs=False,
    )
    run.name = name
    for step in range(num_steps(values)):
        run.track({metric: each[step] for metric, each in values.items()}, step=step + 1)
    run.close()


def copy_rows(
    database: sqlite3.Connection, tables: Sequence[str], key: str, run_id: str, others: Sequence[str]
) -> None:
    """Copy a run's rows for each of the other names."""
    copies = [(f"{run_id[:24]}{number:08x}", name) for number, name in enumerate(others)]
    database.execute("CREATE TEMP TABLE IF NOT EXISTS copies (new_id TEXT, new_name TEXT)")
    database.execute("DELETE FROM copies")
    database.executemany("INSERT INTO copies VALUES (?, ?)", copies)
    renamed = {key: "new_id", "run_name": "new_name", "name": "new_name", "log_id": "NULL"}
    for table in tables:
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})") if row[1] != "id"]
        changes = dict(renamed)
        if table == "tags":  # MLflow keeps the name a second time.
            changes["value"] = "CASE key WHEN 'mlflow.runName' THEN new_name ELSE value END"
        chosen = ", ".join(changes.get(column, column) for column in columns)
        query = f"INSERT INTO {table} ({', '.join(columns)}) SELECT {chosen} FROM {table}, copies WHERE {key} = ?"  # noqa: S608
        database.execute(query, [run_id])


TOOLS: Mapping[str, Fill] = {"tensorboard": tensorboard, "mlflow": mlflow, "aim": aim, "trackio": trackio}


def main() -> None:
    """Fill."""
    tool, folder, what = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    if what == "charts":
        runs, copies = json.loads(Path(sys.argv[4]).read_text(encoding="utf-8")), int(sys.argv[5])
    else:
        runs, copies = [{"critic/rewards/mean": [0.5], "actor/entropy": [0.9]}], int(sys.argv[4]) - 1
    print("\n" + json.dumps(TOOLS[tool](folder, runs, copies)))


if __name__ == "__main__":
    main()
