"""Archives and checkpoints made to hurt: slip, links, bombs, pickles. Nothing gets out of its folder, nothing runs."""

from __future__ import annotations

import io
import pickle
import shutil
import stat
import struct
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from bapo.api.resources import ResourceCreate
from bapo.api.runs import RunCreate
from bapo.client import ApiError
from bapo.config import ConfigError
from bapo.config.paths import SHIPPED_MODELS
from bapo.files.archive import ArchiveError, ArchiveLimits, ArchiveWriter, unpack
from bapo.files.safe_paths import OutsideError, checked_parts, files_inside, open_inside
from bapo.run.artifacts import ArtifactError, file_name, pack
from bapo.run.checkpoint import write_checkpoint
from tests.support.services import BackendServer, running_backend

MODEL = SHIPPED_MODELS / "countdown-base"


class Canary:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self.path), "w")


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """The file that nothing may write; that it would be written is checked first."""
    path = tmp_path / "canary"
    pickle.loads(pickle.dumps(Canary(path))).close()  # noqa: S301 - our own
    assert path.exists()
    path.unlink()
    return path


# ---------------------------------------------------------------- reading archives

NAMES = (
    "../outside",
    "a/../../outside",
    "/outside",
    "//outside",
    "a//b",
    "./a",
    "a/./b",
    "..",
    "a\\..\\..\\outside",
    "C:\\outside",
    "C:/outside",
    "a\x00b",
    "",
    "con",
    "aux.json",
    "a ",
    "a.",
    "x" * 600,
    "/".join("abcdefghij"),
)


def _archive(path: Path, name: str, *, mode: int = stat.S_IFREG | 0o644, content: bytes = b"x") -> Path:
    """An archive with one entry, whose name is written as it is: `zipfile` would mend some of them."""
    placeholder = "p" * len(name.encode()) or "p"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo(placeholder)
        info.create_system = 3
        info.external_attr = mode << 16
        archive.writestr(info, content)
    raw = buffer.getvalue()
    path.write_bytes(raw.replace(placeholder.encode(), name.encode()) if name else raw)
    return path


@pytest.mark.parametrize("name", [name for name in NAMES if name])
def test_a_name_that_leads_out_or_is_none_is_refused(tmp_path: Path, name: str) -> None:
    target = tmp_path / "deep" / "folder"
    target.mkdir(parents=True)
    with pytest.raises(ArchiveError):
        unpack(_archive(tmp_path / "evil.zip", name), target)
    assert not any(target.rglob("*"))
    assert not list(tmp_path.rglob("outside"))


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK])
def test_links_and_devices_are_refused(tmp_path: Path, kind: int) -> None:
    path = _archive(tmp_path / "evil.zip", "link", mode=kind | 0o777, content=b"/etc/passwd")
    with pytest.raises(ArchiveError, match="only regular files"):
        unpack(path, tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_the_same_name_twice_is_refused_also_in_other_letters(tmp_path: Path) -> None:
    for number, names in enumerate((("a/b", "A/B"), ("straße", "STRASSE"), ("x", "x"))):
        path = tmp_path / f"{number}.zip"
        with zipfile.ZipFile(path, "w") as archive, pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", lambda *_, **__: None)
            for name in names:
                archive.writestr(name, b"1")
        with pytest.raises(ArchiveError, match="twice"):
            unpack(path, tmp_path / "target")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(50_000_000))
    assert path.stat().st_size < 60_000
    with pytest.raises(ArchiveError, match="unpacks to 50000000 bytes from"):
        unpack(path, tmp_path / "target")
    with pytest.raises(ArchiveError, match="at most 1000 are unpacked"):
        unpack(path, tmp_path / "target", ArchiveLimits(num_bytes=1000))
    many = tmp_path / "many.zip"
    with zipfile.ZipFile(many, "w") as archive:
        for number in range(11):
            archive.writestr(str(number), b"")
    with pytest.raises(ArchiveError, match="holds 11 files"):
        unpack(many, tmp_path / "target", ArchiveLimits(num_files=10))
    assert not (tmp_path / "target").exists()


def test_an_archive_that_lies_about_a_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "liar.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("file", bytes(5_000_000))
    raw = path.read_bytes()
    # In the central directory, which is what is believed, and before the file itself.
    path.write_bytes(raw.replace(struct.pack("<I", 5_000_000), struct.pack("<I", 10)))
    with pytest.raises(ArchiveError):
        unpack(path, tmp_path / "target")
    assert sum(file.stat().st_size for file in (tmp_path / "target").rglob("*") if file.is_file()) < 2_000_000


@pytest.mark.parametrize("damage", [b"", b"PK", b"no zip at all", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_archive_is_refused_or_empty(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(damage)
    if damage.startswith(b"PK\x05\x06"):
        unpack(path, tmp_path / "target")
        assert not (tmp_path / "target").exists()
        return
    with pytest.raises(ArchiveError, match="not a valid zip archive"):
        unpack(path, tmp_path / "target")


def test_what_is_written_comes_back_the_same(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with ArchiveWriter(path) as archive:
        archive.add("folder/größe.txt", io.BytesIO(b"abc" * 1000))
        archive.add("cut", io.BytesIO(b"abcdef"), 3)
    unpack(path, tmp_path / "target")
    assert (tmp_path / "target/folder/größe.txt").read_bytes() == b"abc" * 1000
    assert (tmp_path / "target/cut").read_bytes() == b"abc"


# ---------------------------------------------------------------- reading beneath a folder


def test_nothing_is_read_through_a_link_or_out_of_its_folder(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("secret")
    folder = tmp_path / "folder"
    (folder / "inside").mkdir(parents=True)
    (folder / "inside/file").write_text("open")
    (folder / "link").symlink_to(secret)
    (folder / "inside/key").symlink_to(secret / "key")
    with open_inside(folder, ("inside", "file")) as file:
        assert file.read() == b"open"
    for parts in (
        ("link", "key"),
        ("inside", "key"),
        ("..", "secret", "key"),
        ("inside", "..", "file"),
        ("a/b",),
        ("",),
    ):
        with pytest.raises(OutsideError):
            open_inside(folder, parts)
    assert [found.parts for found in files_inside(folder)] == [("inside", "file")]
    for name in ("../x", "/x", "a\\b", "a//b", "\x00"):
        with pytest.raises(OutsideError):
            checked_parts(name)


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "a\x00b", "..", "", "💥" * 100, "a\r\nSet-Cookie: x", 'a";x="', "con"]
)
def test_a_runs_name_never_makes_a_path_or_a_header(name: str) -> None:
    made = file_name(name, "abcdefghjk", "checkpoint", 5)
    assert made.endswith("abcdefghjk-step-000005.zip")
    assert not set(made) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_")
    assert not made.startswith(".")


def _run_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    write_checkpoint(folder, 5, _copy_model, keep=1)
    return folder


def _copy_model(target: Path) -> None:
    shutil.copytree(MODEL, target / "model")


def test_a_link_in_a_checkpoint_is_not_packed(tmp_path: Path) -> None:
    folder = _run_folder(tmp_path)
    model = folder / "checkpoints/step-000005/model"
    weights = model / "model.safetensors"
    weights.rename(tmp_path / "elsewhere.safetensors")
    weights.symlink_to(tmp_path / "elsewhere.safetensors")
    with pytest.raises(ArtifactError, match="no weights"):
        pack(folder, "checkpoint", 5, tmp_path / "out.zip")
    shutil.rmtree(model)
    model.symlink_to(MODEL)
    with pytest.raises(ArtifactError, match="not opened"):
        pack(folder, "checkpoint", 5, tmp_path / "out.zip")
    (tmp_path / "linked").symlink_to(folder)
    with pytest.raises(ArtifactError, match="no longer on this machine"):
        pack(tmp_path / "linked", "checkpoint", 5, tmp_path / "out.zip")


def test_a_manifest_made_to_hurt_is_refused(tmp_path: Path) -> None:
    folder = _run_folder(tmp_path)
    manifest = folder / "checkpoints/step-000005/manifest.json"
    for content in (b"[" * 100_000, b"null", b'{"files": 5}', b'{"files": {"model/config.json": 1}}', b"\xff"):
        manifest.write_bytes(content)
        with pytest.raises(ArtifactError, match="damaged"):
            pack(folder, "checkpoint", 5, tmp_path / "out.zip")


# ---------------------------------------------------------------- pickles


@pytest.fixture
def server(postgres_url: str, tmp_path: Path) -> Iterator[BackendServer]:
    """A server that lets people register what lies in the test's folder."""
    with running_backend(postgres_url, tmp_path / "backend", resource_roots=str(tmp_path)) as server:
        yield server


def test_a_pickle_is_never_loaded_by_the_server(server: BackendServer, tmp_path: Path, canary: Path) -> None:
    content = pickle.dumps(Canary(canary))
    model = tmp_path / "model"
    shutil.copytree(MODEL, model)
    for name in ("pytorch_model.bin", "training_args.bin", "model.pt", "optimizer.pkl"):
        (model / name).write_bytes(content)
    without = tmp_path / "only-a-pickle"
    without.mkdir()
    shutil.copy(MODEL / "config.json", without)
    (without / "pytorch_model.bin").write_bytes(content)
    disguised = tmp_path / "disguised"
    shutil.copytree(MODEL, disguised)
    (disguised / "model.safetensors").write_bytes(content)
    for suffix in (".parquet", ".jsonl"):
        (tmp_path / f"data{suffix}").write_bytes(content)
    (tmp_path / "verifier.py").write_text(
        f"open({str(canary)!r}, 'w')\ndef verify(response, answer):\n    return 1.0\n"
    )
    registered = (
        ("model", "model", None),
        ("model", "only-a-pickle", None),
        ("model", "disguised", None),
        ("dataset", "data.parquet", None),
        ("dataset", "data.jsonl", None),
        ("verifier", "verifier.py", "verify"),
    )
    with server.client() as admin:
        for number, (kind, name, function) in enumerate(registered):
            body = {"kind": kind, "name": f"r{number}", "path": str(tmp_path / name), "function": function}
            # Refused is as good as looked at without loading.
            with suppress(ApiError):
                admin.resource_preview(admin.register_resource(ResourceCreate.model_validate(body)).id)
        run = admin.create_run(
            RunCreate(name="x", recipe="countdown-demo", changes={"model.path": str(without)}, start=False)
        )
        assert admin.run(run.id).status == "draft"
    assert not canary.exists()


def test_a_model_that_is_a_pickle_is_refused_where_it_would_be_trained(tmp_path: Path, canary: Path) -> None:
    import torch  # noqa: PLC0415  (slow to import)

    from bapo.engines.local.policy import load_language_model  # noqa: PLC0415

    folder = tmp_path / "model"
    shutil.copytree(MODEL, folder)
    (folder / "model.safetensors").unlink()
    # As `torch.save` once wrote them; the next protocol is refused with a warning.
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Canary(canary), protocol=2))
    with pytest.raises(ConfigError, match="weights cannot be loaded"):
        load_language_model(str(folder), torch.device("cpu"))
    assert not canary.exists()


def test_an_artifact_holds_no_pickle(tmp_path: Path, canary: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()

    def fill(target: Path) -> None:
        _copy_model(target)
        for name in ("pytorch_model.bin", "training_args.bin", "rng.pt", "x.pkl", "code.py"):
            (target / "model" / name).write_bytes(pickle.dumps(Canary(canary)))

    write_checkpoint(folder, 5, fill, keep=1)
    pack(folder, "checkpoint", 5, tmp_path / "out.zip")
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        suffixes = {Path(name).suffix for name in archive.namelist()}
    assert suffixes <= {".json", ".safetensors", ".txt", ".model", ".jinja", ".md"}
    assert not canary.exists()
