"""Files that list prompts, as commands read them."""

from __future__ import annotations

from pathlib import Path

from bapo.api.prompt_lists import PromptEntry
from bapo.cli.failures import RefusedError
from bapo.config.prompt_weights import parse_weight
from bapo.files.prompt_lists import read_entries, read_prompt_list


def identities_of(path: Path) -> list[str]:
    """Read the identities in a file. Raises RefusedError."""
    try:
        return read_prompt_list(path)
    except OSError as error:
        raise RefusedError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise RefusedError(str(error)) from None


def entries_of(path: Path) -> list[PromptEntry]:
    """Read the prompts of a file with their actions. Raises RefusedError."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return [
                PromptEntry(prompt_id=each.prompt_id, weight=parse_weight(each.weight), note=each.note)
                for each in read_entries(file, str(path))
            ]
    except OSError as error:
        raise RefusedError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise RefusedError(str(error)) from None
