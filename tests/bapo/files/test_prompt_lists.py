"""Files that list prompts."""

from __future__ import annotations

from pathlib import Path

import pytest

from bapo.files.prompt_lists import read_prompt_list


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ('prompt_id,num_visits,detail\na:1,2,"x, y"\nb:2,3,\n', ["a:1", "b:2"]),
        ("num_visits,prompt_id\n2,a:1\n3,a:1\n", ["a:1"]),
        ("\ufeffprompt_id\na:1\n", ["a:1"]),
        ("a:1\n\nb c:2\n", ["a:1", "b c:2"]),
        ("prompt_id\n'=cmd:1\n", ["=cmd:1"]),
    ],
)
def test_identities_are_read_from_a_table_or_one_a_line(tmp_path: Path, text: str, listed: list[str]) -> None:
    file = tmp_path / "prompts.csv"
    file.write_text(text, encoding="utf-8")
    assert read_prompt_list(file) == listed


@pytest.mark.parametrize("text", ["", "prompt_id\n", "1,2\n3,4\n", "nothing\n"])
def test_a_file_without_identities_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "prompts.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="lists no prompts: give a CSV file with a column prompt_id"):
        read_prompt_list(file)
