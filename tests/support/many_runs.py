"""Ten thousand runs, put into a database by SQL: what a team's history looks like after a year."""

from __future__ import annotations

import json

from sqlalchemy import text

from backend.kit.database import Database
from backend.models.search_text import leaves
from bapo.config.resolve import resolve

_INSERT = text("""
    INSERT INTO runs (
        id, project_id, owner_id, group_id, name, status, method, recipe, config, fields, explicit, diff, tags, notes,
        created_at, started_at, finished_at, attempt, step, num_steps, num_rollouts, reward_mean,
        eval_name, eval_base, eval_latest, eval_best, eval_best_step, archived_at, search_text
    )
    SELECT
        'h' || lpad(number::text, 9, '0'), (SELECT id FROM projects), (SELECT id FROM users WHERE name = 'admin'),
        (SELECT id FROM run_groups WHERE name = 'sweep ' || number % 50), name, status, method, 'countdown-demo',
        CAST(:config AS json), CAST(:fields AS jsonb), '{}', '{}', tags, notes,
        created, created, created + number % 600 * interval '1 minute',
        1, number % 151, 150, number * 256, number % 100 / 100.0, 'CD-34 avg@8', 0.2, 0.2 + number % 60 / 100.0,
        0.2 + number % 61 / 100.0, 100, CASE WHEN number % 20 = 0 THEN created END,
        lower(concat_ws(E'\n', name, 'h' || lpad(number::text, 9, '0'), array_to_string(tags, E'\n'),
                        'method.type=' || method, 'training.seed=' || number, CAST(:padding AS text), notes))
    FROM (
        SELECT number,
               'countdown ' || (ARRAY['wide', 'narrow', 'delayed', 'paper'])[1 + number % 4] || ' seed ' || number
                   AS name,
               (ARRAY['succeeded', 'succeeded', 'succeeded', 'failed', 'cancelled', 'draft'])[1 + number % 6] AS status,
               (ARRAY['bapo', 'grpo', 'bapo', 'grpo_delayed'])[1 + number % 4] AS method,
               ARRAY['batch-' || number % 25] || CASE WHEN number % 7 = 0 THEN ARRAY['paper'] ELSE '{}'::text[] END
                   AS tags,
               CASE WHEN number % 10 = 0 THEN repeat('The batch starves after step ' || number || '. ', 12) ELSE '' END
                   AS notes,
               now() - (CAST(:count AS int) - number) * interval '50 minutes' - interval '12 hours' AS created
        FROM generate_series(1, CAST(:count AS int)) AS number
    ) AS invented
""")
_ATTEMPTS = text("""
    INSERT INTO attempts (run_id, number, state, fencing_token, claimed_at, ended_at, outcome, num_gpus)
    SELECT id, 1, 'ended', nextval('fencing_tokens'), started_at, finished_at, 'succeeded',
           CASE WHEN right(id, 1) IN ('0', '5') THEN 1 ELSE 0 END
    FROM runs WHERE id LIKE 'h0%'
""")


def invent_runs(database: Database, count: int = 10_000) -> None:
    """Runs `h000000001`, `h000000002`, …, the last one newest; one in twenty is archived."""
    config = resolve({}).config.model_dump(mode="json")
    # As long as the searched text of a recipe with a dozen changes.
    padding = "\n".join(f"{section}.field_{number}={number}" for section in ("rollout", "loss") for number in range(8))
    with database.session() as session, session.begin():
        session.execute(
            text("""
                INSERT INTO run_groups (id, project_id, name)
                SELECT 'group' || number, (SELECT id FROM projects), 'sweep ' || number
                FROM generate_series(0, 49) AS number
            """)
        )
        session.execute(
            _INSERT,
            {
                "config": json.dumps(config),
                "fields": json.dumps(dict(leaves(config))),
                "padding": padding,
                "count": count,
            },
        )
        session.execute(_ATTEMPTS)
        session.execute(text("ANALYZE"))
