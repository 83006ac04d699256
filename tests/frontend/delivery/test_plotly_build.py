"""What of Plotly a page sets up."""

import inspect
import json
import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import plotly

from bapo import figures
from frontend.delivery.plotly_build import KINDS, plotly_build, with_kinds, with_needed_modules

WHOLE = (Path(plotly.__file__).parent / "package_data/plotly.min.js").read_text("utf-8")


def test_a_page_sets_up_the_kinds_of_our_figures_alone() -> None:
    build = with_kinds(WHOLE, {"scatter", "bar", "table"})

    # Every build has lines. Each call is `name(),`, and the whole registers 47 kinds.
    [registered] = re.findall(r"\.register\(\[([\w$(),]+)\]\)", build)
    assert registered.count("()") == 2
    assert len(WHOLE) - len(build) == len(re.findall(r"\.register\(\[([\w$(),]+)\]\)", WHOLE)[0]) - len(registered)


def test_a_build_that_is_put_together_otherwise_stays_whole() -> None:
    assert with_kinds("core.plug([bar(),table()])", {"bar"}) == "core.plug([bar(),table()])"
    assert with_kinds("core.register([bar(),table()])", {"bar"}) == "core.register([bar(),table()])"
    assert with_kinds(WHOLE, {"no such kind"}) == WHOLE


def _unknown_names(script: str, folder: Path) -> set[str]:
    """Names in a script that nothing in it declares: the browser's."""
    path = folder / "script.js"
    path.write_text(script, "utf-8")
    rule = ("-A", "all", "-D", "no-undef", "--format=json")
    told = subprocess.run(
        [Path(sys.executable).parent / "oxlint", *rule, path], capture_output=True, text=True, check=False
    ).stdout
    return {each["message"] for each in json.loads(told)["diagnostics"]}


def test_no_module_is_missing_that_another_one_asks_for(tmp_path: Path) -> None:
    build = plotly_build()

    assert len(build) < len(WHOLE) / 3
    assert _unknown_names(build, tmp_path) <= _unknown_names(WHOLE, tmp_path)


def test_of_a_build_that_nobody_has_taken_apart_no_module_is_left_out() -> None:
    other = WHOLE.replace("plotly.js v4.1.1", "plotly.js v4.1.2", 1)
    assert with_needed_modules(other) == other


def test_every_kind_in_our_figures_is_set_up() -> None:
    modules = [import_module(each.name) for each in pkgutil.iter_modules(figures.__path__, f"{figures.__name__}.")]
    drawn = {kind.lower() for module in modules for kind in re.findall(r"\bgo\.(\w+)\(", inspect.getsource(module))}

    assert drawn - {"figure", "layout"} == KINDS
