"""The check that a folder from the hub holds a language model, and its licence."""

from __future__ import annotations

import json
import re
from pathlib import Path

from bapo.pretrained import PretrainedError

_GENERATES = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel")
_LICENCE = re.compile(r"^(?:license|license_name):[ \t]*['\"]?([\w. -]+)", re.MULTILINE)
NOT_STATED = "not stated"


def check_language_model(name: str, folder: Path) -> None:
    """Raise PretrainedError where the folder is no language model, or lacks weights as safetensors or a tokenizer."""
    try:
        config = json.loads((folder / "config.json").read_bytes())
        named = [str(each) for each in config.get("architectures") or ()]
    except (FileNotFoundError, ValueError, AttributeError):
        raise PretrainedError(f"{name} has no readable config.json: name a model in Hugging Face format") from None
    if not any(each.endswith(_GENERATES) for each in named):
        raise PretrainedError(
            f"{name} is no language model ({', '.join(named) or 'no architecture'}): name one that generates text"
        )
    if not any(folder.glob("*.safetensors")):
        raise PretrainedError(f"{name} has no weights as safetensors: name a repository that has them")
    if not any((folder / file).exists() for file in ("tokenizer.json", "tokenizer.model", "vocab.json")):
        raise PretrainedError(f"{name} has no tokenizer: name a repository that has one")


def licence_of(folder: Path) -> str:
    """Return the licence that the head of the model card names."""
    try:
        head = (folder / "README.md").read_text(encoding="utf-8", errors="replace").split("---", 2)
    except FileNotFoundError:
        return NOT_STATED
    found = _LICENCE.findall(head[1]) if len(head) == 3 and not head[0].strip() else []
    # `license: other` has the name in a second field.
    return next((each.strip() for each in reversed(found) if each.strip() != "other"), NOT_STATED)
