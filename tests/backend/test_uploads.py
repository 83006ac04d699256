"""Uploads: in parts, checked as a whole, registered as versions, fetched by workers."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save
from sqlalchemy import text

from backend.files.uploads import service
from backend.files.uploads.store import UploadStore
from backend.kit.database import Database
from bapo.api.configs import ConfigDraft
from bapo.api.runs import RunCreate
from bapo.api.uploads import UploadCheck, UploadCreate, UploadFinish, UploadInfo, UploadRegister
from bapo.client import ApiError, Client
from bapo.client import uploads as sending
from bapo.client.uploads import upload_file, wait_until_checked
from tests.support.fake_worker import FakeWorker
from tests.support.refusals import refuses
from tests.support.services import BackendServer, RedisServer, running_backend
from worker.contents import ContentError, fetch_contents


@pytest.fixture(scope="module")
def backend_server(
    postgres_url: str, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BackendServer]:
    folder = tmp_path_factory.mktemp("backend")
    limits = {"upload_max_bytes": 1_000_000, "upload_quota_bytes": 2_000_000}
    with running_backend(postgres_url, folder, redis_server.url, port=0, **limits) as server:
        yield server


def lines(count: int, first: int = 0) -> bytes:
    rows = [{"question": f"{n} + {n} = ?", "answer": 2 * n} for n in range(first, first + count)]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def begin(client: Client, content: bytes, name: str = "rows.jsonl", **fields: str) -> UploadInfo:
    body = {"file_name": name, "num_bytes": len(content), **fields}
    return client.begin_upload(UploadCreate.model_validate(body))


def send(client: Client, upload: UploadInfo, content: bytes, offset: int = 0) -> UploadInfo:
    return client.upload_part(upload.id, offset, zlib.crc32(content), content)


def checked(client: Client, content: bytes, name: str = "rows.jsonl", **fields: str) -> UploadInfo:
    upload = send(client, begin(client, content, name, **fields), content)
    return wait_until_checked(client, client.finish_upload(upload.id, UploadFinish()))


def registered(client: Client, content: bytes, name: str, **fields: object) -> tuple[int, bool]:
    upload = checked(client, content)
    made = client.register_upload(upload.id, UploadRegister.model_validate({"name": name, **fields}))
    return made.version, made.is_new


def test_a_cut_upload_goes_on_where_it_ended(member: Client) -> None:
    content = lines(60)
    upload = send(member, begin(member, content), content[:100])
    assert (upload.next_offset, upload.crc32) == (100, zlib.crc32(content[:100]))
    # Begun again, as after a reload, it is the same; a part whose answer was lost changes nothing.
    again = begin(member, content)
    assert (again.id, again.next_offset) == (upload.id, 100)
    assert send(member, again, content[:100]).next_offset == 100
    assert send(member, again, content[300:], 300).next_offset == 100
    with refuses(409, field="num_bytes"):
        member.finish_upload(again.id, UploadFinish())
    with refuses(422, field="crc32"):
        member.upload_part(again.id, 100, 1, content[100:])
    with refuses(422, field="offset"):
        send(member, again, content[100:] + b"more", 100)
    send(member, again, content[100:], 100)
    with refuses(422, field="sha256"):
        member.finish_upload(again.id, UploadFinish(sha256="0" * 64))
    done = wait_until_checked(member, member.finish_upload(again.id, UploadFinish()))
    assert (done.state, done.suggested_name) == ("checked", "rows")
    assert done.report is not None
    assert (done.report.num_kept, done.report.warnings) == (60, [])
    member.delete_upload(done.id)
    assert member.uploads().items == []


def test_a_part_that_was_never_confirmed_is_written_again(tmp_path: Path) -> None:
    store = UploadStore(tmp_path)
    store.append("abcdefghij", 0, b"one")
    store.append("abcdefghij", 3, b"lost answer, and a killed server")
    store.append("abcdefghij", 3, b"two")
    assert store.received("abcdefghij").read_bytes() == b"onetwo"


def test_the_client_goes_on_and_never_joins_two_files(
    member: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "PART_BYTES", 700)
    path = tmp_path / "own.jsonl"
    path.write_bytes(lines(60))
    cut = begin(member, path.read_bytes(), "own.jsonl")
    send(member, cut, path.read_bytes()[:1000])
    offsets: list[int] = []
    upload = upload_file(member, path, progress=lambda each: offsets.append(each.next_offset))
    assert (upload.id, upload.state, offsets[0]) == (cut.id, "checked", 1700)
    member.delete_upload(upload.id)
    # As long, and of the same name, but other bytes.
    other = begin(member, path.read_bytes(), "own.jsonl")
    send(member, other, b'{"x": 1}')
    upload = upload_file(member, path)
    assert upload.id != other.id
    assert upload.report is not None
    assert upload.report.num_kept == 60
    member.delete_upload(upload.id)


def test_what_is_too_large_or_not_what_it_says_is_refused_at_once(member: Client, viewer: Client) -> None:
    with refuses(413, field="num_bytes"):
        member.begin_upload(UploadCreate(file_name="big.jsonl", num_bytes=1_000_001))
    with refuses(422, field="file_name"):
        member.begin_upload(UploadCreate(file_name="weights.bin", num_bytes=10))
    pickle = begin(member, b"\x80\x04\x95" * 4, "rows.jsonl")
    with pytest.raises(ApiError) as refused:
        send(member, pickle, b"\x80\x04\x95" * 4)
    assert (refused.value.code, refused.value.body.field) == ("not_what_it_says", "file_name")
    member.delete_upload(pickle.id)
    # The first bytes are right and nothing else is.
    lost = checked(member, b"PAR1" + b"x" * 100, "rows.parquet")
    assert (lost.state, "not readable as Parquet" in (lost.problem or "")) == ("failed", True)
    with refuses(409, field="state"):
        member.register_upload(lost.id, UploadRegister(name="lost"))
    member.delete_upload(lost.id)
    begun = [begin(member, b"x" * 900_000, f"{n}.jsonl") for n in range(2)]
    with refuses(409, field="num_bytes"):
        begin(member, b"x" * 900_000, "3.jsonl")
    for upload in begun:
        member.delete_upload(upload.id)
    with refuses(403):
        begin(viewer, b"x")


def test_uploads_are_their_owners(member: Client, admin: Client, outsider: Client) -> None:
    upload = begin(member, b"x" * 10)
    for other in (admin, outsider):
        for call in (other.upload, other.delete_upload):
            with refuses(404):
                call(upload.id)
        assert other.uploads().items == []
    member.delete_upload(upload.id)


def test_columns_are_chosen_and_warnings_have_to_be_accepted(member: Client) -> None:
    rows = [{"said": f"{n}?", "meant": n} for n in (*range(60), 0, 1)]
    upload = checked(member, "".join(json.dumps(row) + "\n" for row in rows).encode())
    assert (upload.state, upload.report) == ("checked", None)
    with refuses(409):
        member.register_upload(upload.id, UploadRegister(name="said"))
    with refuses(422, field="columns"):
        member.check_upload(upload.id, UploadCheck(columns={"prompt": "nowhere"}))
    with refuses(422, field="columns"):
        member.check_upload(upload.id, UploadCheck(columns={"nums": "said"}))
    columns = {"prompt": "said", "answer": "meant"}
    upload = member.check_upload(upload.id, UploadCheck(columns=columns, verifier="exact"))
    upload = wait_until_checked(member, upload)
    assert upload.report is not None
    assert upload.report.num_repeated == 2
    with pytest.raises(ApiError) as refused:
        member.register_upload(upload.id, UploadRegister(name="said"))
    assert (refused.value.status, refused.value.code) == (409, "has_warnings")
    assert "2 rows" in refused.value.body.remedy
    made = member.register_upload(upload.id, UploadRegister(name="said", licence="MIT", accepts_warnings=True))
    (info,) = [each for each in member.resources().items if each.id == made.resource_id]
    assert (info.details["num_rows"], info.details["verifier"], info.versions[0].licence) == (60, "exact", "MIT")
    assert member.resource_preview(info.id).columns == ["answer", "prompt"]
    member.remove_resource(info.id)


def test_content_is_the_version_and_runs_name_the_one_that_they_use(
    member: Client, outsider: Client, backend_server: BackendServer, database: Database
) -> None:
    assert registered(member, lines(60), "sums") == (1, True)
    # The same content is the same version, whatever its columns are called.
    assert registered(member, lines(60).replace(b"question", b"problem"), "sums") == (1, False)
    assert registered(member, lines(60, 5), "sums") == (2, True)
    (info,) = [each for each in member.resources().items if each.name == "sums"]
    assert [version.number for version in info.versions] == [2, 1]
    changes = {"task.type": "file", "task.verifier": "math", "training.steps": 2}

    def run(data: str) -> str:
        body = RunCreate(name="r", recipe="countdown-demo", changes={**changes, "task.train_file": data}, start=False)
        return str(member.create_run(body).config["task"]["train_file"])

    assert (run("@sums"), run("@sums:1")) == (info.versions[0].path, info.versions[1].path)
    assert run(info.versions[1].path) == info.versions[1].path
    uses = {(use.version, use.field) for use in member.resource_runs(info.id).items}
    assert uses == {(1, "task.train_file"), (2, "task.train_file")}
    assert {each.num_runs for each in member.resources().items if each.id == info.id} == {3}
    draft = ConfigDraft(recipe="countdown-demo", changes={**changes, "task.train_file": "@sums:3"})
    with pytest.raises(ApiError, match="use one of 2, 1, or @sums alone"):
        member.validate(draft)
    # Another project's content is not named by its path either.
    draft.changes["task.train_file"] = info.path
    with pytest.raises(ApiError):
        outsider.validate(draft)
    # Without its name, content stays while a run refers to it.
    member.remove_resource(info.id)
    with database.session() as session, session.begin():
        session.execute(text("UPDATE resource_versions SET created_at = now() - interval '3 days'"))
    service.expire(database, backend_server.settings)
    assert Path(info.path).is_file()
    assert registered(member, lines(60), "sums") == (1, True)
    with database.session() as session, session.begin():
        session.execute(text("DELETE FROM run_resources"))
    service.expire(database, backend_server.settings)
    assert not Path(info.path).exists()
    assert Path(info.versions[1].path).is_file()
    assert len(member.resources().items) == 1
    member.remove_resource(member.resources().items[0].id)


def test_uploads_that_nobody_goes_on_with_are_deleted(
    member: Client, backend_server: BackendServer, database: Database
) -> None:
    old, young = begin(member, b"x" * 10, "old.jsonl"), begin(member, b"{" * 10, "young.jsonl")
    for upload in (old, young):
        send(member, upload, b"{")
    store = UploadStore(backend_server.settings.upload_store)
    with database.session() as session, session.begin():
        session.execute(
            text("UPDATE uploads SET touched_at = now() - interval '2 days' WHERE id = :id"), {"id": old.id}
        )
    service.expire(database, backend_server.settings)
    assert [each.id for each in member.uploads().items] == [young.id]
    assert (store.folder(old.id).exists(), store.folder(young.id).exists()) == (False, True)
    member.delete_upload(young.id)
    assert not store.folder(young.id).exists()


def test_a_worker_elsewhere_fetches_what_its_run_names(
    member: Client, backend_server: BackendServer, tmp_path: Path
) -> None:
    registered(member, lines(60, 100), "elsewhere")
    changes = {"task.type": "file", "task.verifier": "math", "task.train_file": "@elsewhere"}
    run = member.create_run(RunCreate(name="r", recipe="countdown-demo", changes=changes))
    worker = FakeWorker(backend_server)
    claim = worker.claim(run.id)
    (content,) = claim.contents
    (file,) = content.files
    assert (content.path, file.path) == (run.config["task"]["train_file"],) * 2
    here = file.model_copy(update={"path": str(tmp_path / "deep" / "data.jsonl")})
    contents = [content.model_copy(update={"files": [here]})]
    fetch_contents(worker.client, run.id, contents)
    assert Path(here.path).read_bytes() == Path(file.path).read_bytes()
    assert [path.name for path in Path(here.path).parent.iterdir()] == ["data.jsonl"]
    # What is there is not fetched again; what is damaged on its way has no name.
    fetch_contents(member, run.id, contents)
    other = [content.model_copy(update={"files": [here.model_copy(update={"sha256": "0" * 64, "num_bytes": 1})]})]
    with pytest.raises(ContentError, match="cannot be fetched"):
        fetch_contents(worker.client, run.id, other)
    with pytest.raises(ContentError):
        fetch_contents(member, run.id, other)
    worker.client.close()
    member.remove_resource(next(each.id for each in member.resources().items if each.name == "elsewhere"))


def model(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"tiny/{name}", content)
    return packed.getvalue()


def test_a_model_is_unpacked_and_never_a_pickle(member: Client) -> None:
    files = {
        "config.json": b'{"model_type": "qwen2"}',
        "model.safetensors": save({"weight": np.zeros((3, 4), np.float32)}),
        "LICENSE": b"MIT",
    }
    upload = checked(member, model(files), "tiny.zip", kind="model")
    assert (upload.state, upload.details["num_parameters"]) == ("checked", 12)
    member.register_upload(upload.id, UploadRegister(name="tiny", licence="MIT"))
    (info,) = member.resources("model").items
    assert info.is_present
    changes = {"model.path": "@tiny"}
    run = member.create_run(RunCreate(name="r", recipe="countdown-demo", changes=changes, start=False))
    assert run.config["model"]["path"] == info.path
    assert (Path(info.path) / "model.safetensors").is_file()
    for name, why in (("pytorch_model.bin", "is a pickle"), ("run.py", "is no file of a model")):
        refused = checked(member, model({**files, name: b"x"}), "bad.zip", kind="model")
        assert (refused.state, why in (refused.problem or "")) == ("failed", True)
        member.delete_upload(refused.id)
    refused = checked(member, b"PK\x03\x04 and no more", "bad.zip", kind="model")
    assert "not a valid zip archive" in (refused.problem or "")
