"""The same metrics logged by another tool, in its own environment: nothing of ours is imported here.

    python ingest_peers.py TOOL FOLDER STEPS KEYS

Prints one JSON line: seconds until all is durable, and how long each step's call took.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

Log = Callable[[int, dict[str, float]], None]
Close = Callable[[], None]


def trackio(folder: Path) -> tuple[Log, Close]:
    os.environ["TRACKIO_DIR"] = str(folder)
    os.environ["HF_HUB_OFFLINE"] = "1"
    import trackio as tool  # noqa: PLC0415

    tool.init(project="ingest", embed=False)
    return lambda step, values: tool.log(values, step=step), tool.finish


def tensorboard(folder: Path) -> tuple[Log, Close]:
    from tensorboard.summary import Writer  # noqa: PLC0415

    writer = Writer(str(folder))

    def log(step: int, values: dict[str, float]) -> None:
        for name, value in values.items():
            writer.add_scalar(name, value, step)

    return log, writer.close


def aim(folder: Path) -> tuple[Log, Close]:
    from aim import Run  # noqa: PLC0415

    run = Run(repo=str(folder), system_tracking_interval=None, log_system_params=False, capture_terminal_logs=False)
    return lambda step, values: run.track(values, step=step), run.close


def mlflow(folder: Path, synchronous: bool = True) -> tuple[Log, Close]:
    import mlflow as tool  # noqa: PLC0415

    tool.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    tool.set_experiment("ingest")
    tool.start_run()

    def close() -> None:
        if not synchronous:
            tool.flush_async_logging()
        tool.end_run()

    return lambda step, values: tool.log_metrics(values, step=step, synchronous=synchronous), close


TOOLS: dict[str, Callable[[Path], tuple[Log, Close]]] = {
    "trackio": trackio,
    "tensorboard": tensorboard,
    "aim": aim,
    "mlflow": mlflow,
    "mlflow-async": lambda folder: mlflow(folder, synchronous=False),
}


def main() -> None:
    """Log."""
    tool, folder, steps, num_keys = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    draws = random.Random(1)
    prepared = [
        {f"group_{key // 10}/metric_{key % 10}": draws.random() for key in range(num_keys)} for _ in range(steps)
    ]
    log, close = TOOLS[tool](folder)
    # The first call makes connections and files.
    log(0, prepared[0])
    blocked = []
    begin = time.perf_counter()
    for step, values in enumerate(prepared, start=1):
        before = time.perf_counter()
        log(step, values)
        blocked.append(1000 * (time.perf_counter() - before))
    close()
    seconds = time.perf_counter() - begin
    print()
    print(json.dumps({"seconds": seconds, "blocked_ms": blocked}))


if __name__ == "__main__":
    main()
