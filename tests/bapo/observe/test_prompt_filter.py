"""A finding's list as a filter of another trainer's dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bapo import observe
from bapo.observe import Group
from bapo.records import StepRecord
from bapo.run.journal import merged_records


def test_rows_are_left_out_by_the_identity_that_observing_gave_them(tmp_path: Path) -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "1 + 1?"}]
    rows: list[dict[str, Any]] = [
        {"prompt": "1 + 1?", "data_source": "sums"},
        {"prompt": "1 + 1?", "data_source": "exam"},
        {"prompt": chat, "data_source": "sums"},
        {"prompt": "2 + 2?"},
    ]
    with observe.run("mine", folder=tmp_path / "run") as run:
        run.step(1, groups=[Group(row["prompt"], [1, 0], source=row.get("data_source")) for row in rows])
    (step,) = (record for record in merged_records(tmp_path / "run") if isinstance(record, StepRecord))
    identities = [visit.prompt_id for visit in step.prompts]
    assert len(set(identities)) == 4
    for place, row in enumerate(rows):
        listed = tmp_path / "listed.csv"
        listed.write_text(f"prompt_id,num_visits\n{identities[place]},1\n", encoding="utf-8")
        assert [each for each in rows if not observe.without(listed)(each)] == [row]
