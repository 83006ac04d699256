"""Response times of one server process for the reads of pages and scripts.

    python -m benchmarks.api_reads [--runs 50] [--history 10000] [--seconds 5]

Starts PostgreSQL and one server process in a temporary folder, stores runs of 471 steps by the real ingest and copies
their rows to fifty, fills the history to its size, and asks over HTTP from another process. The server keeps answers
while nothing new is stored, so that a question asked again, as here, is mostly read. Writes
docs/benchmarks/api_reads.json and api_reads.md.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from statistics import median, quantiles
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from bapo.api.accounts import Login, PasswordSet, TokenCreate
from bapo.api.people import MembershipWrite, PersonCreate, ProjectCreate
from bapo.client import Client
from benchmarks.deployment import Deployment, deployment
from benchmarks.report import command_line, table, write_report
from benchmarks.volume import config_of, records, store

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


async def per_second(address: str, token: str, *, clients: int, seconds: float) -> float:
    """Return the responses to a GET per second over some connections, each of which repeats it after the response.

    Sockets and nothing else: httpx would work longer than the server.
    """
    url = urlsplit(address)
    head = (
        f"GET {url.path}?{url.query} HTTP/1.1\r\nHost: {url.netloc}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    )
    answered = 0
    begin = time.perf_counter()

    async def keep_asking() -> None:
        nonlocal answered
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        while time.perf_counter() < begin + seconds:
            writer.write(head)
            said = (await reader.readuntil(_HEAD_END)).lower()
            assert said.startswith(b"http/1.1 200"), said
            place = said.index(_LENGTH) + len(_LENGTH)
            await reader.readexactly(int(said[place : said.index(b"\r\n", place)]))
            answered += 1
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*(keep_asking() for _ in range(clients)))
    return answered / (time.perf_counter() - begin)


STEPS, BATCH_SIZE, NUM_PROMPTS = 471, 32, 4096
NUM_STORED = 5
"""Runs that are stored by the real ingest; the others are copies of their rows."""
TEN_KEYS = (
    "critic/rewards/mean",
    "actor/entropy",
    "actor/grad_norm",
    "actor/ppo_kl",
    "actor/pg_clipfrac",
    "bapo/batch/x1",
    "bapo/batch/x2",
    "bapo/batch/x3",
    "response_length/mean",
    "bapo/cost/num_rollouts",
)
NUM_PROJECTS = 20
"""Number of projects of the member who repeats the administrator's requests; every query is limited to them."""
MEMBER, PASSWORD = "bench", "a password of the benchmark"
CLIENTS = 8
"""Connections that ask at once for the throughput."""


def milliseconds(ask: Callable[[], object], repetitions: int) -> list[float]:
    """Return the duration of each call in milliseconds, after three uncounted ones."""
    for _ in range(3):
        ask()
    times = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        ask()
        times.append(1000 * (time.perf_counter() - begin))
    return times


def member_of_many(server: Deployment) -> str:
    """Create a member of many projects, including the default one, and return the secret of a session."""
    with server.client() as admin:
        names = [f"project {number}" for number in range(1, NUM_PROJECTS)]
        for name in names:
            admin.create_project(ProjectCreate(name=name))
        projects = [MembershipWrite(project=name, role="member") for name in ("default", *names)]
        made = admin.create_person(PersonCreate(name=MEMBER, role="member", projects=projects))
    code = parse_qs(urlsplit(made.link.path).query)["code"][0]
    with Client(server.url) as stranger:
        stranger.set_password(PasswordSet(code=code, password=PASSWORD))
        _, session = stranger.login(Login(name=MEMBER, password=PASSWORD))
    with Client(server.url, cookie=session) as member:
        return member.create_token(TokenCreate(name="bench")).secret


def log_in(client: httpx.Client) -> None:
    """Log in with name and password."""
    client.post("/auth/login", json={"name": MEMBER, "password": PASSWORD}).raise_for_status()


def measure(server: Deployment, *, num_runs: int, history: int, seconds: float, repetitions: int) -> dict[str, Any]:
    """Fill the server and ask it."""
    with server.client() as client:
        run_ids: list[str] = []
        for seed in range(1, NUM_STORED + 1):
            config = config_of(steps=STEPS, batch_size=BATCH_SIZE, seed=seed)
            first = store(client, config, f"run {seed}", records(config, num_prompts=NUM_PROMPTS), group="bench")
            run_ids += [first, *server.copy_run(first, num_runs // NUM_STORED - 1)]
        keys = list(client.metric_keys(run_ids[0]).items)
        server.fill_history(run_ids[0], history)
        one, runs = run_ids[0], {"run": run_ids, "keys": "critic/rewards/mean"}
        http = server.http_options()
        of_member = {**http, "headers": {"Authorization": f"Bearer {member_of_many(server)}"}}
        with httpx.Client(**http) as asking, httpx.Client(**of_member) as member:

            def questions(client: httpx.Client) -> dict[str, Callable[[], object]]:
                def get(path: str, **params: Any) -> httpx.Response:
                    return client.get(path, params=params).raise_for_status()

                return {
                    f"one key of {num_runs} runs": lambda: get("/metrics", **runs),
                    f"all {len(keys)} keys of a run": lambda: get(f"/runs/{one}/metrics", keys=",".join(keys)),
                    "ten keys of a run": lambda: get(f"/runs/{one}/metrics", keys=",".join(TEN_KEYS)),
                    f"a page of {history:,} runs": lambda: get("/runs", limit=50),
                    f"a search among {history:,} runs": lambda: get("/runs", limit=50, search="copy 77"),
                    f"a filter on {history:,} runs": lambda: get("/runs", limit=50, method="bapo", sort="-eval_latest"),
                }

            answers, of_members = (
                {name: milliseconds(ask, repetitions) for name, ask in questions(client).items()}
                for client in (asking, member)
            )
            password = milliseconds(lambda: log_in(member), repetitions // 6)
        address = f"{server.url}/api/v1/runs/{one}/metrics?keys={','.join(TEN_KEYS)}"
        throughput = asyncio.run(per_second(address, server.token, clients=CLIENTS, seconds=seconds))
    return {
        "milliseconds": {
            name: {
                "median": median(times),
                "p95": quantiles(times, n=20)[18],
                "median_of_member": median(of_members[name]),
            }
            for name, times in answers.items()
        },
        "milliseconds_to_log_in": median(password),
        "requests_per_second_ten_keys": throughput,
    }


def main() -> None:
    """Run the benchmark."""
    options = command_line(__doc__, runs=50, history=10_000, seconds=5.0, repetitions=60)
    with deployment() as server:
        results = measure(
            server,
            num_runs=options.runs,
            history=options.history,
            seconds=options.seconds,
            repetitions=options.repetitions,
        )
    rows = [
        [name, *(f"{times[figure]:.1f}" for figure in ("median", "p95", "median_of_member"))]
        for name, times in results["milliseconds"].items()
    ]
    write_report(
        "api_reads",
        "What the API takes to answer",
        {"steps": STEPS, **results},
        table(["question", "median ms", "p95 ms", f"median ms, a member of {NUM_PROJECTS} projects"], rows),
        f"Ten keys of a run, {CLIENTS} connections: {results['requests_per_second_ten_keys']:.0f} requests per second; "
        "the asking process shares the machine and does no more than read sockets. Logging in with a password, which "
        f"argon2id makes slow on purpose: "
        f"{results['milliseconds_to_log_in']:.0f} ms.",
        packages=("fastapi", "sqlalchemy"),
        setting=f"; one server process, runs of {STEPS} steps, asked over HTTP one at a time",
    )


if __name__ == "__main__":
    main()
