"""A worker that has the server's address and a token, and nothing else: no broker, and not the server's folders."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from bapo.api.base import ErrorBody
from bapo.api.runs import RunStatus
from bapo.api.workers import WorkerRegistration
from bapo.client import ApiError, BapoError, Client, UnreachableError
from bapo.deploy.doctor import checks
from bapo.deploy.doctor.check_result import Grade
from tests.support.ports import free_port
from tests.support.services import BackendServer, new_database, running_backend, wait_until
from tests.support.small_runs import events, steps_of
from tests.support.stack import submit
from tests.support.waiting import PATIENCE_SECONDS
from worker.errors import WorkerError, lasting_refusal
from worker.run_folders import runs_dir_here
from worker.trainer_process import trainers_of

REGISTRATION = WorkerRegistration(name="remote", host="box", slots=1, version="0", delivery="https")


def test_a_worker_trains_over_restarts_of_the_server_and_of_a_trainer_in_a_folder_of_its_own(
    postgres_server: str, tmp_path: Path
) -> None:
    port, runs = free_port(), tmp_path / "elsewhere" / "runs"
    with new_database(postgres_server) as url:
        with running_backend(url, tmp_path, port=port) as server:
            command = [sys.executable, "-m", "worker", "run", "--server", server.url, "--name", "remote"]
            command += ["--token-file", str(server.settings.worker_token_file), "--folder", str(tmp_path / "worker")]
            command += ["--runs-dir", str(runs)]
            joined = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.DEVNULL)
            with server.client() as client:
                wait_until(lambda: [worker.delivery for worker in client.workers().items] == ["https"])
        try:
            # It was waiting when the server went.
            with running_backend(url, tmp_path, port=port) as server, server.client() as client:
                run_id = submit(client, "far away", **{"training.steps": 2})
                run = client.wait(run_id, timeout_seconds=PATIENCE_SECONDS)
                assert (run.status, run.attempt, run.worker) == (RunStatus.SUCCEEDED, 1, "remote")
                assert (runs / run_id / "attempt-1" / "records.jsonl").exists()
                client.delete_run(run_id, permanently=True)
                wait_until(lambda: not (runs / run_id).exists())
                folder = kill_and_resume(client, runs)
                # It ends its trainer after a step, and hands the run back.
                joined.terminate()
                assert joined.wait(PATIENCE_SECONDS) == 0
            (resumed,) = events(folder, "resumed")
            recorded = steps_of(folder)
            assert (resumed.step >= 2, resumed.step % 2) == (True, 0)
            assert [step.step for step in recorded] == list(range(1, len(recorded) + 1))
            # Those after the checkpoint are the second trainer's.
            assert [step.attempt for step in recorded] == [1] * resumed.step + [2] * (len(recorded) - resumed.step)
        finally:
            joined.kill()
            joined.wait()


def kill_and_resume(client: Client, runs: Path) -> Path:
    """Kill the trainer of a run, wait until the next one has trained beyond it, and return the run's folder."""
    run_id = submit(client, "killed", **{"training.steps": 100_000, "training.checkpoint_interval": 2})
    killed_at = client.wait(run_id, lambda run: run.step >= 3, timeout_seconds=PATIENCE_SECONDS).step
    (trainer,) = trainers_of(runs / run_id)
    trainer.kill()
    client.wait(run_id, lambda run: run.attempt == 2 and run.step > killed_at + 1, timeout_seconds=PATIENCE_SECONDS)
    return runs / run_id


def test_runs_lie_in_the_workers_folder_where_the_servers_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    impossible = tmp_path / "file" / "runs"
    assert runs_dir_here(tmp_path / "runs", tmp_path / "own", is_shared=False) == tmp_path / "runs"
    assert runs_dir_here(impossible, tmp_path / "own", is_shared=False) == tmp_path / "own"
    with pytest.raises(WorkerError, match="that all machines share, cannot be written here"):
        runs_dir_here(impossible, tmp_path / "own", is_shared=True)


# ---------------------------------------------------------------- what keeps a worker from joining


def refused(url: str, token: str) -> str:
    """What a worker ends with that registers there."""
    with Client(url, token=token) as client, pytest.raises(BapoError) as failure:
        client.register_worker(REGISTRATION)
    error = lasting_refusal(url, failure.value)
    assert error is not None
    return str(error)


def test_a_wrong_token_is_told_what_to_do(backend_server: BackendServer) -> None:
    url = backend_server.url
    mistyped = refused(url, "x" * 43)
    assert mistyped.startswith(f"{url} does not know this worker token, which is mistyped, expired or revoked: create")
    assert "which is a person's" in refused(url, backend_server.admin_token)


def test_a_server_that_is_too_old_is_told_apart_and_one_that_is_away_is_tried_again() -> None:
    def status(number: int, **fields: str) -> WorkerError | None:
        body = ErrorBody(code="x", remedy="no such field: remove it", request_id="1").model_copy(update=fields)
        return lasting_refusal("https://x", ApiError(number, body))

    assert "upgrade the server first" in str(status(422, field="delivery"))
    assert [status(number) for number in (404, 409, 429, 500, 502, 503)] == [None] * 6
    assert lasting_refusal("https://x", UnreachableError("https://x", "Connection refused")) is None
    unknown = UnreachableError("https://x", "[Errno -2] Name or service not known")
    assert unknown.remedy == "check the host name"
    assert lasting_refusal("https://x", unknown) is None


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [
        ("certificate has expired (_ssl.c:1032)", "renew the server's certificate"),
        ("Hostname mismatch, certificate is not valid for 'x'. (_ssl.c:1032)", "use the host name that"),
    ],
)
def test_a_certificate_that_is_not_good_is_told_what_to_do(reason: str, remedy: str) -> None:
    cause = f"[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: {reason}"
    error = lasting_refusal("https://x", UnreachableError("https://x", cause))
    assert remedy in str(error)
    assert len(str(error).splitlines()) == 1


class Answer(BaseHTTPRequestHandler):
    """Knows nobody."""

    def do_POST(self) -> None:
        self.send_error(401)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def own_certificate(tmp_path: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    built = x509.CertificateBuilder(
        issuer_name=name,
        subject_name=name,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - timedelta(days=1),
        not_valid_after=now + timedelta(days=1),
    ).add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
    certificate = tmp_path / "certificate.pem"
    certificate.write_bytes(built.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    certificate.with_name("key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return certificate


@pytest.fixture
def tls_url(own_certificate: Path) -> Iterator[str]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(own_certificate, own_certificate.with_name("key.pem"))
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"https://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_certificate_of_ones_own_is_named(
    tls_url: str, own_certificate: Path, backend_server: BackendServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "SSL_CERT_FILE=/path/to/authority.pem" in refused(tls_url, "t")
    monkeypatch.setenv("SSL_CERT_FILE", str(own_certificate))
    assert "refuses this worker: 127.0.0.1 answered 401" in refused(tls_url, "t")
    # The other way round: a server without TLS.
    assert "check that the server speaks TLS" in refused(backend_server.url.replace("http:", "https:"), "t")


def test_the_doctor_checks_the_way_of_a_worker(backend_server: BackendServer) -> None:
    def grades(token: str) -> dict[str, Grade]:
        return {finding.check: finding.grade for finding in checks.server(backend_server.url, token)}

    found = grades(backend_server.worker_token)
    assert (found["encryption"], found["worker token"]) == (Grade.OK, Grade.OK)
    assert "login" not in found
    assert grades("x" * 43)["login"] == Grade.FAILURE
    (joining,) = (
        each for each in checks.server(backend_server.url, backend_server.admin_token) if "elsewhere" in each.check
    )
    assert "none can join" in joining.message
