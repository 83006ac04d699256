"""Records and visits of steps are packed, and metrics that wait for their chunk have a table of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import orjson
from alembic import op

from backend.models.packed_json import pack, unpack

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

STEPS_AT_ONCE = 500

TAILS = """
    CREATE TABLE metric_tails (
        run_id text NOT NULL CONSTRAINT fk_metric_tails_run_id REFERENCES runs ON DELETE CASCADE,
        step integer NOT NULL, metrics jsonb NOT NULL,
        CONSTRAINT pk_metric_tails PRIMARY KEY (run_id, step)
    );
    INSERT INTO metric_tails (run_id, step, metrics) SELECT run_id, step, metrics FROM steps WHERE metrics IS NOT NULL;
"""
PACKED = """
    CREATE TABLE new_steps (
        run_id text NOT NULL, step integer NOT NULL, attempt integer NOT NULL,
        reward_mean double precision, unix_time double precision,
        fresh_histogram bigint[] NOT NULL, reevaluated_histogram bigint[] NOT NULL, batch_histogram bigint[] NOT NULL,
        ratio_histogram bigint[],
        record bytea NOT NULL, visits bytea NOT NULL
    );
    ALTER TABLE new_steps ALTER COLUMN record SET STORAGE EXTERNAL, ALTER COLUMN visits SET STORAGE EXTERNAL;
"""
PLAIN = """
    CREATE TABLE new_steps (
        run_id text NOT NULL, step integer NOT NULL, attempt integer NOT NULL,
        metrics jsonb,
        fresh_histogram bigint[] NOT NULL, reevaluated_histogram bigint[] NOT NULL, batch_histogram bigint[] NOT NULL,
        record jsonb NOT NULL,
        prompt_ids text[] NOT NULL, prompt_sources text[] NOT NULL,
        prompt_num_correct integer[] NOT NULL, prompt_policy_versions bigint[] NOT NULL,
        prompt_in_batch boolean[] NOT NULL, prompt_reasons text[] NOT NULL
    );
    ALTER TABLE new_steps ALTER COLUMN metrics SET STORAGE EXTERNAL, ALTER COLUMN record SET STORAGE EXTERNAL;
"""
REPLACED = """
    DROP TABLE steps;
    ALTER TABLE new_steps RENAME TO steps;
    ALTER TABLE steps ADD CONSTRAINT pk_steps PRIMARY KEY (run_id, step),
                      ADD CONSTRAINT fk_steps_run_id FOREIGN KEY (run_id) REFERENCES runs ON DELETE CASCADE;
"""
HISTOGRAMS = ("fresh_histogram", "reevaluated_histogram", "batch_histogram")
VISITS = (
    *("prompt_ids", "prompt_sources", "prompt_num_correct", "prompt_policy_versions"),
    *("prompt_in_batch", "prompt_reasons"),
)


def upgrade() -> None:
    """Apply."""
    op.execute(TAILS)
    op.execute(PACKED)
    _rewrite(("run_id", "step", "attempt", *HISTOGRAMS, "record", *VISITS), _packed)
    op.execute(REPLACED)


def downgrade() -> None:
    """Take back."""
    op.execute(PLAIN)
    _rewrite(("run_id", "step", "attempt", *HISTOGRAMS, "record", "visits"), _plain)
    op.execute(REPLACED)
    op.execute(
        "UPDATE steps SET metrics = tail.metrics FROM metric_tails AS tail"
        " WHERE tail.run_id = steps.run_id AND tail.step = steps.step"
    )
    op.execute("CREATE INDEX ix_steps_tail ON steps (run_id, step) WHERE metrics IS NOT NULL")
    op.drop_table("metric_tails")


def _rewrite(columns: Sequence[str], rewritten: Callable[[Any], dict[str, Any]]) -> None:
    """Write every step into the new table, some at a time: all of them may not fit into memory."""
    cursor = op.get_bind().connection.cursor()
    last: tuple[str, int] = ("", 0)
    while True:
        cursor.execute(
            f"SELECT {', '.join(columns)} FROM steps WHERE (run_id, step) > (%s, %s)"  # noqa: S608
            f" ORDER BY run_id, step LIMIT {STEPS_AT_ONCE}",
            last,
        )
        rows = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
        if not rows:
            return
        new = [rewritten(row) for row in rows]
        names = list(new[0])
        values = ", ".join(f"%({name})s" for name in names)
        cursor.executemany(f"INSERT INTO new_steps ({', '.join(names)}) VALUES ({values})", new)  # noqa: S608
        last = (rows[-1]["run_id"], rows[-1]["step"])


def _packed(row: dict[str, Any]) -> dict[str, Any]:
    record = row["record"]
    return {
        **{name: row[name] for name in ("run_id", "step", "attempt", *HISTOGRAMS)},
        "reward_mean": _finite(record.get("reward_mean")),
        "unix_time": _finite((record.get("timing") or {}).get("unix_time")),
        "ratio_histogram": (record.get("update") or {}).get("ratio_histogram"),
        "record": pack(orjson.dumps(record)),
        "visits": pack(orjson.dumps([row[name] for name in VISITS])),
    }


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    visits = dict(zip(VISITS, orjson.loads(unpack(bytes(row["visits"]))), strict=True))
    kept = {name: row[name] for name in ("run_id", "step", "attempt", *HISTOGRAMS)}
    return {**kept, "record": unpack(bytes(row["record"])).decode(), **visits}


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
