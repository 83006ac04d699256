"""A worker packs a report that another process draws: what goes wrong there is told, and ends with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bapo.config.recipes import shipped_recipes
from bapo.config.resolve import resolve
from bapo.records import AnyRecord
from bapo.report import isolated
from bapo.report.isolated import draw_report
from bapo.run.artifacts import ArtifactError, pack
from bapo.run.journal import RECORDS_FILE


def test_a_packed_report_is_one_html_file(run_records: list[AnyRecord], tmp_path: Path) -> None:
    attempt = tmp_path / "run" / "attempt-1"
    attempt.mkdir(parents=True)
    recipe = next(each for each in shipped_recipes() if each.name == "countdown-demo")
    (tmp_path / "run" / "config.json").write_text(resolve(recipe.explicit).config.model_dump_json())
    (attempt / RECORDS_FILE).write_text("".join(record.model_dump_json() + "\n" for record in run_records))
    out = tmp_path / "report.html"
    packed = pack(tmp_path / "run", "report", None, out, draw_report=draw_report)
    assert out.read_bytes().lower().startswith(b"<!doctype html>")
    assert packed.num_bytes == out.stat().st_size


def test_the_reason_of_the_process_is_told(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"the report cannot be drawn: .*config\.json"):
        draw_report(tmp_path, tmp_path / "report.html")


def test_a_drawing_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated, "REPORT_SECONDS", 0.01)
    with pytest.raises(ArtifactError, match="took longer"):
        draw_report(tmp_path, tmp_path / "report.html")
