"""Repositories of the hub in several files, and private ones: fetched whole, and the token goes to nobody else."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import unquote

import pyarrow
import pyarrow.parquet
import pytest

from backend.files.uploads.store import UploadStore
from bapo.api.uploads import UploadFetch, UploadInfo, UploadRegister
from bapo.client import Client
from bapo.client.uploads import wait_until_checked
from tests.support.hub import COMMIT, MODEL, TOKEN, holding, lines, shard
from tests.support.receiver import Receiver, receiving, respond
from tests.support.services import BackendServer, running_backend

MAX_BYTES = 100_000


@pytest.fixture(scope="module")
def hub() -> Iterator[Receiver]:
    with receiving() as receiver:
        receiver.url = receiver.url.removesuffix("/hook")
        yield receiver


@pytest.fixture(scope="module")
def store() -> Iterator[Receiver]:
    """Where the hub redirects to: another host, as the port tells."""
    with receiving() as receiver:
        receiver.url = receiver.url.removesuffix("/hook")
        yield receiver


@pytest.fixture(scope="module")
def backend_server(
    postgres_url: str, tmp_path_factory: pytest.TempPathFactory, hub: Receiver
) -> Iterator[BackendServer]:
    folder = tmp_path_factory.mktemp("backend")
    token = folder / "hub-token"
    token.write_text(f"{TOKEN}\n")
    with running_backend(
        postgres_url,
        folder,
        upload_hosts="127.0.0.1",
        upload_hub_url=hub.url,
        upload_hub_token_file=token,
        upload_max_bytes=MAX_BYTES,
    ) as server:
        yield server


def serving_content(files: Mapping[str, bytes]) -> Callable[[BaseHTTPRequestHandler], object]:
    return lambda handler: respond(handler, 200, files[unquote(handler.path).removeprefix("/")])


def fetched(client: Client, url: str) -> UploadInfo:
    return wait_until_checked(client, client.fetch_upload(UploadFetch(url=url)))


def parquet(first: int, count: int) -> bytes:
    rows = [{"question": f"{n} + {n} = ?", "answer": str(2 * n)} for n in range(first, first + count)]
    made = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), made)
    return made.getvalue()


def test_a_private_model_comes_with_its_shards_and_the_token_goes_to_the_hub_alone(
    member: Client, hub: Receiver, store: Receiver
) -> None:
    hub.answer, store.answer = holding(MODEL, store), serving_content(MODEL)
    store.received.clear()
    upload = fetched(member, "hf://o/it")
    assert (upload.kind, upload.state, upload.file_name) == ("model", "checked", "it.zip"), upload.problem
    assert upload.details["num_parameters"] == 24
    # The branch may move on: the version keeps the commit.
    assert upload.source == f"hf://o/it@{COMMIT}"
    # Neither pickles nor other forms of the weights are fetched; and the other host has never seen the token.
    assert sorted(each.path for each in store.received) == sorted(
        f"/{name}" for name in MODEL if name[0] != "." and not name.startswith(("pytorch", "onnx"))
    )
    assert not any("authorization" in {name.lower() for name in each.headers} for each in store.received)
    made = member.register_upload(upload.id, UploadRegister(name="it"))
    (info,) = [each for each in member.resources("model").items if each.id == made.resource_id]
    assert (Path(info.path) / "model-00002-of-00002.safetensors").read_bytes() == shard("b")


def test_a_shard_that_is_not_there_is_named(member: Client, hub: Receiver) -> None:
    hub.answer = holding({name: content for name, content in MODEL.items() if "00002-of" not in name})
    upload = fetched(member, "hf://o/it")
    assert upload.state == "failed"
    assert "names model-00002-of-00002.safetensors, which is not there" in (upload.problem or "")
    member.delete_upload(upload.id)


DATA: Mapping[str, tuple[str, Mapping[str, bytes], str]] = {
    "jsonl": ("", {"README.md": b"x", "train-0.jsonl": lines(0, 40), "train-1.jsonl": lines(40, 25)}, "it.jsonl"),
    "parquet": (
        "/main/train-*.parquet",
        {
            "main/train-00000-of-00002.parquet": parquet(0, 40),
            "main/train-00001-of-00002.parquet": parquet(40, 25),
            "main/test-00000-of-00001.parquet": parquet(0, 9),
        },
        "it.parquet",
    ),
}


@pytest.mark.parametrize("name", DATA)
def test_data_in_several_files_is_one_data_set(member: Client, hub: Receiver, name: str) -> None:
    folder, files, file_name = DATA[name]
    hub.answer = holding(files)
    upload = fetched(member, f"hf://datasets/o/it{folder}")
    assert (upload.kind, upload.state, upload.file_name) == ("dataset", "checked", file_name), upload.problem
    assert upload.report is not None
    # 40 and 25: the last row of the first file does not run into the next.
    assert (upload.report.num_rows, upload.report.num_kept) == (65, 65)
    made = member.register_upload(upload.id, UploadRegister(name=f"parts-{name}"))
    (info,) = [each for each in member.resources("dataset").items if each.id == made.resource_id]
    assert info.details["num_rows"] == 65


REFUSED: Mapping[str, tuple[str, Mapping[str, bytes], str]] = {
    "no data": ("hf://datasets/o/it", {"README.md": b"x"}, "no file there ends in .jsonl, .csv, .parquet"),
    "elsewhere": (
        "hf://datasets/o/it/other",
        {"main/a.jsonl": b"{}"},
        "'hf://datasets/o/it@main/other': no file there ends in .jsonl, .csv, .parquet; it has main/a.jsonl",
    ),
    "several sets": (
        "hf://datasets/o/it",
        {"test.jsonl": b"{}", "train-0.jsonl": b"{}"},
        "holds several sets of files: name one of them, such as test*.jsonl, train*.jsonl",
    ),
    "csv": ("hf://datasets/o/it", {"a-0.csv": b"q", "a-1.csv": b"q"}, "CSV in several files is not joined"),
    "a pickle": ("hf://o/it", {"config.json": b"{}", "model.bin": b"x"}, "no weights as safetensors, but model.bin"),
    "too large in sum": (
        "hf://datasets/o/it",
        {"a-0.jsonl": b"x" * 60_000, "a-1.jsonl": b"x" * 60_000},
        "its 2 files have 120,000 bytes in sum, and at most 100,000 are taken",
    ),
    "not admitted": ("hf://o/other", {}, "the token of this deployment does not open it"),
    "a pickle in a part": (
        "hf://datasets/o/it",
        {"a-0.jsonl": lines(0, 40), "a-1.jsonl": b"\x80\x04\x95."},
        "file 2: the name ends in .jsonl, but this is a pickle",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_repository_that_cannot_be_used_says_why_and_leaves_nothing(
    member: Client, hub: Receiver, backend_server: BackendServer, name: str
) -> None:
    url, files, reason = REFUSED[name]
    hub.answer = holding(files)
    upload = fetched(member, url)
    assert reason in (upload.problem or "")
    assert TOKEN not in upload.model_dump_json()
    member.delete_upload(upload.id)
    assert not UploadStore(backend_server.settings.upload_store).folder(upload.id).exists()
