"""How files travel to browsers."""

import re
from importlib import import_module
from pathlib import Path

import dash_mantine_components
import pytest

from frontend.delivery.files import AMENDMENTS, Amendment, amended, own_files, read_at_once
from frontend.delivery.plotly_build import plotly_build


@pytest.mark.parametrize(
    ("before", "factory"),
    [
        ("!function(e,n){e.it=n(e.React)}(self,", "(e,n)=>(()=>{go()})()"),
        ('(function(r, f) {r.it = f()\n} (typeof self !== "undefined" ? self : this, ', "() => {\ngo();\n}"),
    ],
)
def test_a_script_that_is_one_function_is_read_at_once(before: str, factory: str) -> None:
    assert read_at_once(f"{before}{factory});") == f"{before}({factory}));\n"


@pytest.mark.parametrize(
    "script",
    [
        "!function(){go()}();",
        "!function(e,n){e.it=n(e.React)}(self,(e,n)=>(()=>{go()})()).more();start()",
    ],
)
def test_a_script_that_is_put_together_otherwise_stays_as_it_is(script: str) -> None:
    assert read_at_once(script) == script


def test_the_largest_scripts_of_pages_are_read_at_once() -> None:
    mantine = Path(str(dash_mantine_components.__file__)).parent / "dash_mantine_components.js"
    for script in (plotly_build(), mantine.read_text("utf-8")):
        assert read_at_once(script) != script


@pytest.mark.parametrize("change", AMENDMENTS)
def test_what_is_changed_in_a_packages_script_stands_there_once(change: Amendment) -> None:
    script = (Path(str(import_module(change.package).__file__)).parent / change.file).read_text("utf-8")
    assert script.count(change.was) == 1, "the package changed: see whether its pages still cost what they should"
    assert change.was not in amended(change.package, script)


def test_no_style_of_ours_asks_the_whole_document_what_it_has() -> None:
    for style in own_files("css"):
        assert not re.search(r"(html|body|:root|#page|#appshell)[^\s,{>+~]*:has\(", style.read_text("utf-8")), (
            style.name
        )
