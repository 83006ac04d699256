"""Files that list prompts."""

from __future__ import annotations

from pathlib import Path

import pytest

from bapo.files.prompt_lists import read_entries, read_prompt_list


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


def entries(text: str) -> list[tuple[str, str, str]]:
    return [(each.prompt_id, each.weight, each.note) for each in read_entries(text.splitlines(), "list.csv")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # What `bapo prompts export` prints.
        (
            "prompt_id,action,weight,note\na:1,quarantine,,label is 41\na:2,weight,2.5,\n",
            [("a:1", "0", "label is 41"), ("a:2", "2.5", "")],
        ),
        # What `bapo findings RUN --prompts KIND` prints, and one identity a line: quarantine.
        ("prompt_id,num_visits,detail\na:1,3,all agree\n", [("a:1", "0", "all agree")]),
        ("a:1\n\nb c:2\n", [("a:1", "0", ""), ("b c:2", "0", "")]),
        ("\ufeffprompt_id,weight\n'=x:1,3\n", [("=x:1", "3", "")]),
        ("prompt_id,action,weight\na:1,quarantine,2\n", [("a:1", "0", "")]),
    ],
)
def test_entries_are_read_with_their_weights(text: str, found: list[tuple[str, str, str]]) -> None:
    assert entries(text) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "lists no prompts"),
        ("prompt_id\n", "lists no prompts"),
        ("prompt_id,action\na:1,delete\n", "row 2: the action 'delete' is none: give quarantine or weight"),
        ("prompt_id,action,weight\na:1,weight,\n", "row 2: the action is weight, and no weight is given"),
        ("prompt_id\na:1\na:1\n", "row 3: 'a:1' is in an earlier row, too"),
        ("prompt_id\nnothing\n", "row 2: 'nothing' is no prompt's identity"),
    ],
)
def test_a_file_that_cannot_be_taken_whole_is_refused_by_row(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        entries(text)
