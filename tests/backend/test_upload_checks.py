"""Checks of uploads: none holds the others, whatever is in it, and none reads or writes more than it may."""

from __future__ import annotations

import io
import json
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from backend.files.uploads import checker
from backend.files.uploads.models import ModelJob, ModelResult, unpack_model
from backend.files.uploads.store import UploadStore
from bapo.api.uploads import UploadCheck, UploadCreate, UploadFinish, UploadInfo, UploadKind, UploadRegister
from bapo.client import Client
from bapo.client.uploads import wait_until_checked
from bapo.isolation.function import CallCancelledError
from bapo.own_data.job import CheckJob, CheckResult, carry_out, read_isolated
from tests.support.refusals import refuses
from tests.support.services import BackendServer, RedisServer, running_backend
from tests.support.waiting import wait_until

GOOD = "".join(json.dumps({"question": f"{n} + {n} = ?", "answer": 2 * n}) + "\n" for n in range(60)).encode()
MODEL = {
    "config.json": b'{"model_type": "qwen2"}',
    "model.safetensors": save({"weight": np.zeros((3, 4), np.float32)}),
}
INDEX = "model.safetensors.index.json"


@pytest.fixture(scope="module")
def backend_server(
    postgres_url: str, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BackendServer]:
    folder = tmp_path_factory.mktemp("backend")
    limits = {"upload_max_bytes": 1_000_000, "upload_quota_bytes": 2_000_000}
    with running_backend(postgres_url, folder, redis_server.url, port=0, **limits) as server:
        yield server


@pytest.fixture(autouse=True)
def without_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check in the server's threads: that a check has a process to itself is for the tests that start one."""
    monkeypatch.setattr(checker, "read_isolated", lambda check, job, **_: check(job))


def sent(client: Client, content: bytes, name: str = "rows.jsonl", kind: UploadKind = "dataset") -> UploadInfo:
    upload = client.begin_upload(UploadCreate(file_name=name, num_bytes=len(content), kind=kind))
    upload = client.upload_part(upload.id, 0, zlib.crc32(content), content)
    return client.finish_upload(upload.id, UploadFinish())


def packed(files: Mapping[str, bytes]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as writer:
        for name, content in files.items():
            writer.writestr(name, content)
    return archive.getvalue()


@pytest.mark.parametrize(
    "row",
    [
        r'{"prompt": "a\u0000b", "answer": "1"}',
        r'{"prompt": "\ud800", "answer": "1"}',
        r'{"prompt": "a", "answer": "1", "b\u0000": 1}',
        r'{"prompt": "a", "answer": {"\u0000": "\udfff"}}',
        '{"prompt": "a", "answer": ' + "9" * 4_000 + "}",
        '{"prompt": "a", "answer": ' + '{"x": ' * 400 + "1" + "}" * 400 + "}",
        '{"prompt": "a", "answer": ' + "[" * 90_000 + "]" * 90_000 + "}",
        '{"prompt": "a", "answer": Infinity}',
    ],
)
def test_no_row_stops_anybodys_checks(member: Client, admin: Client, row: str) -> None:
    bad, good = sent(member, row.encode()), sent(admin, GOOD)
    found = wait_until_checked(member, bad)
    assert found.state in ("checked", "failed")
    assert found.problem is None or "its log has the cause" not in found.problem
    assert wait_until_checked(admin, good).state == "checked"
    for client, upload in ((member, bad), (admin, good)):
        client.delete_upload(upload.id)


def test_what_nobody_thought_of_fails_one_upload_and_no_other(
    member: Client, admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(_: object, job: CheckJob, **__: Any) -> CheckResult:
        if job.path.read_bytes() != GOOD:
            raise RuntimeError("a fault of ours")
        return carry_out(job)

    monkeypatch.setattr(checker, "read_isolated", check)
    bad, good = sent(member, b'{"prompt": "a", "answer": "1"}'), sent(admin, GOOD)
    assert "the server could not check it" in (wait_until_checked(member, bad).problem or "")
    assert wait_until_checked(admin, good).state == "checked"
    for client, upload in ((member, bad), (admin, good)):
        client.delete_upload(upload.id)


def test_a_slow_file_holds_nobody_elses_and_ends_when_it_is_deleted(
    member: Client, admin: Client, backend_server: BackendServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended = threading.Event(), threading.Event()

    def check(_: object, job: CheckJob, *, is_cancelled: Callable[[], bool], **__: Any) -> CheckResult:
        if job.path.read_bytes() == GOOD:
            return carry_out(job)
        begun.set()
        while not is_cancelled():
            pass
        # As a process that was writing while its folder was deleted.
        job.out.parent.mkdir(exist_ok=True)
        ended.set()
        raise CallCancelledError

    monkeypatch.setattr(checker, "read_isolated", check)
    monkeypatch.setattr(checker, "ASK_SECONDS", 0.05)
    slow = sent(member, b'{"prompt": "slow", "answer": "1"}')
    assert begun.wait(20)
    # Of one person one file is checked at a time.
    waiting, good = sent(member, GOOD, "mine.jsonl"), sent(admin, GOOD)
    assert wait_until_checked(admin, good).state == "checked"
    assert member.upload(waiting.id).state == "checking"
    member.delete_upload(slow.id)
    assert ended.wait(20)
    assert wait_until_checked(member, waiting).state == "checked"
    folder = UploadStore(backend_server.settings.upload_store).folder(slow.id)
    wait_until(lambda: not folder.exists())
    for client, upload in ((member, waiting), (admin, good)):
        client.delete_upload(upload.id)


def test_a_structure_is_named_as_an_answer(member: Client) -> None:
    """As docs/own-run.md has it done with examples/own_task."""
    content = Path("examples/own_task/problems.jsonl").read_bytes()
    upload = wait_until_checked(member, sent(member, content, "problems.jsonl"))
    body = UploadCheck(columns={"answer": "answer"})
    upload = wait_until_checked(member, member.check_upload(upload.id, body))
    assert upload.mapping is not None
    assert upload.mapping.columns == {"prompt": "prompt", "answer": "answer"}
    member.register_upload(upload.id, UploadRegister(name="own", accepts_warnings=True))
    (info,) = [each for each in member.resources().items if each.name == "own"]
    first = dict(
        zip(*(member.resource_preview(info.id).columns, member.resource_preview(info.id).rows[0]), strict=True)
    )
    assert set(first["answer"]) == {"numbers", "target"}
    member.remove_resource(info.id)


def test_an_archive_that_came_byte_by_byte_is_no_data_set(member: Client) -> None:
    content = packed({"rows.jsonl": GOOD})
    upload = member.begin_upload(UploadCreate(file_name="rows.jsonl", num_bytes=len(content)))
    for offset, part in ((0, content[:1]), (1, content[1:])):
        member.upload_part(upload.id, offset, zlib.crc32(part), part)
    upload = wait_until_checked(member, member.finish_upload(upload.id, UploadFinish()))
    assert "this is a zip archive" in (upload.problem or "")
    member.delete_upload(upload.id)


# ---------------------------------------------------------------- room


def test_what_a_model_unpacks_to_counts(member: Client, backend_server: BackendServer) -> None:
    before = member.uploads().used_bytes
    weights = save({"weight": np.zeros(200_000, np.float32)})
    content = packed({**MODEL, "model.safetensors": weights})
    # 800,000 bytes of zeros pack to less than a hundredth.
    assert len(content) < 8_000
    upload = wait_until_checked(member, sent(member, content, "zeros.zip", "model"))
    assert (upload.state, upload.problem) == ("checked", None)
    used = member.uploads().used_bytes
    grown = sum(used.values()) - sum(before.values())
    assert grown == len(weights) + len(MODEL["config.json"])
    # The archive itself is no longer there.
    assert not UploadStore(backend_server.settings.upload_store).received(upload.id).exists()
    # 2 · 800,000 of 2,000,000 are taken: a third has no room.
    second = wait_until_checked(member, sent(member, content, "more.zip", "model"))
    assert second.state == "checked"
    third = wait_until_checked(member, sent(member, content, "most.zip", "model"))
    assert (third.state, "unpacks to" in (third.problem or "")) == ("failed", True)
    for each in (upload, second, third):
        member.delete_upload(each.id)
    assert member.uploads().used_bytes == before


def test_rows_that_take_more_than_the_room_that_is_left_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(GOOD)
    job = CheckJob(path=path, ending=".jsonl", mapping=None, out=tmp_path / "out", most_bytes=100)
    found = read_isolated(carry_out, job, file_bytes=job.most_bytes)
    assert "more room than the 100 bytes" in (found.problem or "")


# ---------------------------------------------------------------- models


def unpacked(folder: Path, files: Mapping[str, bytes], most_bytes: int = 10**9) -> ModelResult:
    path = folder / "model.zip"
    path.write_bytes(packed(files))
    return unpack_model(ModelJob(path=path, out=folder / "out", most_bytes=most_bytes))


@pytest.mark.parametrize("name", ["/etc/hostname", "/etc/no-such-file", "../../secret", "../model.zip"])
def test_an_index_does_not_say_which_files_the_server_has(tmp_path: Path, name: str) -> None:
    index = json.dumps({"weight_map": {"weight": name}}).encode()
    problem = unpacked(tmp_path, {**MODEL, INDEX: index}).problem or ""
    assert (
        problem == f"{INDEX} names the file {name!r}, which is not in the model's folder: save all of the model there"
    )
    index = json.dumps({"weight_map": {"weight": "part.safetensors"}}).encode()
    assert "part.safetensors, which is not there" in (unpacked(tmp_path, {**MODEL, INDEX: index}).problem or "")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (INDEX, rb'{"weight_map": {"a": "b\u0000"}}'),
        (INDEX, rb'{"weight_map": {"a": "\ud800"}}'),
        (INDEX, b'{"weight_map": ' + b"[" * 90_000),
        (INDEX, b'{"weight_map": [1]}'),
        (INDEX, b'{"weight_map": {}, "more": [' + b"[]," * 1_000 + b"[]]}"),
        ("tokenizer_config.json", b'{"a": [' + b"[]," * 7_000_000 + b"[]]}"),
        ("config.json", b"[" * 90_000),
        ("config.json", b"{}"),
        ("config.json", b'{"model_type": ' + b"9" * 5_000 + b"}"),
        ("config.json", b'{"a": [' + b"[]," * 1_000_000 + b"[]]}"),
        ("model.safetensors", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 123\n"),
        ("model.safetensors", MODEL["model.safetensors"][:-1]),
        ("tokenizer_config.json", rb'{"vocab_file": "a\u0000"}'),
    ],
)
def test_a_model_that_cannot_be_read_has_a_reason_that_can_be_stored(tmp_path: Path, name: str, content: bytes) -> None:
    problem = unpacked(tmp_path, {**MODEL, name: content}).problem
    assert problem is not None
    assert "\0" not in problem
    assert problem.encode()
    assert ("Error (" not in problem, list((tmp_path).glob("out"))) == (True, [])


def test_an_index_of_pickles_that_were_left_out_is_no_fault(tmp_path: Path) -> None:
    index = b'{"metadata": {"total_size": 48}, "weight_map": {"weight": "pytorch_model-00001-of-00001.bin"}}'
    assert unpacked(tmp_path, {**MODEL, "pytorch_model.bin.index.json": index}).problem is None


def test_what_a_system_adds_to_an_archive_is_left_out(tmp_path: Path) -> None:
    added = (".gitattributes", ".DS_Store", "__MACOSX/._config.json", ".git/hooks/run.py", "more/.cache/._x")
    found = unpacked(
        tmp_path,
        {
            **{f"tiny/{name}": content for name, content in MODEL.items()},
            **dict.fromkeys([f"tiny/{name}" for name in added] + ["__MACOSX/tiny/._config.json", ".DS_Store"], b"x"),
        },
    )
    assert found.problem is None
    assert {file.name for file in found.files} == set(MODEL)


def test_details_of_a_model_can_be_stored(tmp_path: Path) -> None:
    config = rb'{"model_type": "a\u0000", "architectures": ["\ud800"], "vocab_size": 1' + b"0" * 3_000 + b"}"
    details = unpacked(tmp_path, {**MODEL, "config.json": config}).details
    assert (details["model_type"], details["architectures"]) == ("a\ufffd", ["\ufffd"])
    assert details["vocab_size"].endswith("(3,001 characters)")


def test_a_model_is_unpacked_in_a_process_with_limits(tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    path.write_bytes(packed(MODEL))
    job = ModelJob(path=path, out=tmp_path / "out", most_bytes=10**9)
    assert read_isolated(unpack_model, job, file_bytes=job.most_bytes, maps_files=True) == unpack_model(job)


def test_data_of_another_name_is_not_taken_for_a_model(member: Client) -> None:
    with refuses(422, field="file_name"):
        member.begin_upload(UploadCreate(file_name="rows.jsonl", num_bytes=3, kind="model"))
