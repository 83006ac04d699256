"""The examples of docs/automation.md run against a server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from bapo.cli import BapoGroup, app
from bapo.cli.failures import Exit
from bapo.client import Client
from tests.support.fake_worker import FakeWorker
from tests.support.journals import evaluation, step
from tests.support.services import BackendServer, wait_until

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "automation.md").read_text()


def test_the_python_examples_run(backend_server: BackendServer, admin: Client, tmp_path: Path) -> None:
    examples = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(examples) == 5
    environment = {**os.environ, "BAPO_SERVER": backend_server.url, "BAPO_TOKEN": backend_server.admin_token}
    with subprocess.Popen(
        # Its lines come as it prints them.
        [sys.executable, "-u", "-c", "".join(examples)],
        env={**environment, "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        wait_until(lambda: admin.runs().total == 1)
        run = admin.run(admin.runs().items[0].id)
        worker = FakeWorker(backend_server)
        claim = worker.begin(run)
        worker.upload(claim, [evaluation(0, 0.25), step(1, reward_mean=0.25), step(2, reward_mean=0.5)])
        # It follows the run only once it has seen step 2.
        said: list[str] = []
        assert running.stdout is not None
        for line in running.stdout:
            said.append(line)
            if line.startswith("status"):
                break
        worker.report(claim, "succeeded")
        rest, errors = running.communicate(timeout=60)
        worker.close()
    assert running.returncode == 0, errors
    output = "".join(said) + rest
    assert f"{run.id} queued {{'method.c1': (0.125, 0.25)}}" in output
    assert "step 2\n" in output
    assert "status 2 succeeded" in output
    assert "[1, 2] [0.25, 0.5]" in output
    assert "invalid_config: method.c1 = 7: must be at least 0 and less than 1" in output
    assert "['c1 up']" in output


def test_every_command_and_option_in_the_document_exists() -> None:
    group = get_command(app)
    assert isinstance(group, BapoGroup)
    lines = [line for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]
    seen = 0
    for words in re.findall(r"bapo ([a-z-]+[^#|)`$\n]*)", "\n".join(lines)):
        arguments = words.split()
        context = group.make_context("bapo", arguments[:1], resilient_parsing=True)
        _, command, rest = group.resolve_command(context, arguments)
        while hasattr(command, "commands") and rest and rest[0] in command.commands:
            command, rest = command.commands[rest[0]], rest[1:]
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in rest if word.startswith("--")} <= known, words
        seen += 1
    assert seen >= 15


def test_the_exit_codes_in_the_document_are_those_of_the_commands() -> None:
    table = TEXT.partition("### Exit codes")[2].partition("### In CI")[0]
    documented = {int(code) for row in re.findall(r"^\| ([\d, ]+) \|", table, re.MULTILINE) for code in row.split(",")}
    assert documented == {int(code) for code in Exit}


def test_the_file_in_the_document_is_a_run(admin: Client) -> None:
    content = tomllib.loads(re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)[0])
    assert admin.recipe(content["recipe"]).name == "countdown-demo"


def test_every_command_is_listed_with_what_it_is() -> None:
    commands = [each for panel in BapoGroup.panels for each in panel.commands]
    assert len({each.name for each in commands}) == len(commands)
    for each in commands:
        command = each.load()
        assert command.name == each.name
        assert command.help, each.name
        assert each.help.endswith("."), each.name


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["completion", "bash"]])
def test_what_is_asked_for_often_is_fast_to_load(words: list[str]) -> None:
    heavy = ("torch", "numpy", "pyarrow", "pydantic", "httpx", "bapo.api", "transformers")
    code = (
        "import sys\n"
        "from bapo.cli import app\n"
        f"sys.argv = ['bapo', *{words!r}]\n"
        "try:\n    app()\nexcept SystemExit as end:\n    assert end.code == 0\n"
        f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_no_command_loads_torch_before_it_must() -> None:
    code = (
        "import sys\n"
        "from bapo.cli import BapoGroup\n"
        "for panel in BapoGroup.panels:\n    for each in panel.commands:\n        each.load()\n"
        "print([name for name in ('torch', 'transformers') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
