"""The form of a new run: another method brings its own fields and values."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from bapo.api.runs import RunCreate
from tests.browser.conftest import Visitor, field, log_in_with
from tests.support.services import BackendServer, add_person

pytestmark = pytest.mark.browser


def choose(page: Page, name: str, path: str = "method.type") -> None:
    field(page, path).locator("input").first.click()
    page.get_by_role("option", name=name, exact=True).click()


def test_the_form_follows_the_method(visitor: Visitor) -> None:
    page = visitor.page
    page.goto("/new?recipe=countdown-demo")
    expect(page.locator("#new-submit")).to_be_enabled()
    sync = field(page, "method.v").locator("input")
    expect(sync).to_have_value("5")

    # DAPO has rounds and no thresholds; its clip range stands at the field that is left to the method.
    choose(page, "dapo")
    expect(field(page, "method.max_rounds").locator("input")).to_have_value("4")
    expect(field(page, "method.c1")).to_be_hidden()
    expect(field(page, "method.type")).to_contain_text("DAPO: prompts are rolled out until B groups have mixed rewards")
    page.get_by_role("button", name="loss", exact=False).first.click()
    expect(field(page, "loss.clip_high")).to_contain_text("dapo has 0.28.")
    expect(page.locator("#new-diff")).to_contain_text("dapo")
    expect(page.locator("#new-submit")).to_be_enabled()

    # What nobody typed takes the value of the new method; what somebody typed stays.
    field(page, "method.max_rounds").locator("input").fill("2")
    choose(page, "arpo")
    expect(sync).to_have_value("1")
    choose(page, "dapo")
    expect(field(page, "method.max_rounds").locator("input")).to_have_value("2")
    expect(field(page, "method.max_rounds")).to_have_class(re.compile("changed"))
    field(page, "method.max_rounds").get_by_role("button").click()
    expect(field(page, "method.max_rounds").locator("input")).to_have_value("4")

    # A section says how many fields the method has there beside those above: DAPO one, BAPO its buffers and filter.
    loss = page.locator("[data-section=method]")
    choose(page, "bapo")
    expect(loss.locator(".mantine-Accordion-label")).to_have_text("method · 8 more")

    # A method without fields says so.
    choose(page, "gspo")
    expect(page.get_by_text("This method adds no fields.")).to_be_visible()
    expect(page.locator("#new-problems")).to_contain_text("GSPO's clip range never acts")
    choose(page, "bapo")
    expect(sync).to_have_value("5")
    expect(page.locator("#new-diff")).to_contain_text("Nothing")


def test_the_form_follows_the_type_of_tasks(visitor: Visitor) -> None:
    page = visitor.page
    page.goto("/new?recipe=countdown-demo")
    expect(page.locator("#new-submit")).to_be_enabled()
    # The button is in sight, whatever is being filled in.
    expect(page.locator("#new-submit")).to_be_in_viewport()
    page.get_by_role("button", name=re.compile(r"^task · [1-9]\d* more")).click()
    verifier = field(page, "task.verifier").locator("input")
    expect(verifier).to_have_value("countdown")
    choose(page, "file", "task.type")
    expect(verifier).to_have_value("math")
    expect(field(page, "task.prompt_column").locator("input")).to_have_value("prompt")
    expect(field(page, "task.num_operands")).to_be_hidden()
    expect(field(page, "task.train_file")).to_contain_text("give the path of a parquet or JSONL file")
    expect(page.locator("#new-submit")).to_be_disabled()
    # What was typed is listed although it cannot run, and the estimate says that it is an older one.
    expect(page.locator("#new-diff")).to_contain_text("file")
    expect(page.locator(".stale-note").first).to_be_visible()
    # Its own value of a field is no change; another one is.
    expect(field(page, "task.verifier")).not_to_have_class(re.compile("changed"))
    verifier.fill("numeric")
    choose(page, "reasoning_gym", "task.type")
    expect(verifier).to_have_value("numeric")
    field(page, "task.verifier").get_by_role("button").click()
    expect(verifier).to_have_value("reasoning_gym")
    choose(page, "countdown", "task.type")
    expect(page.locator("#new-diff")).to_contain_text("Nothing")
    expect(page.locator(".stale-note").first).to_be_hidden()

    # A name is refused beside the button and at its field, and never cut.
    page.get_by_label("Name").fill("n" * 300)
    page.locator("#new-submit").click()
    refusal = "it has 300 characters: shorten it to at most 200"
    expect(page.locator("#new-problems")).to_contain_text(refusal)
    expect(page.locator(".form-main")).to_contain_text(refusal)
    expect(page.get_by_label("Name")).to_have_value("n" * 300)


def test_fields_of_other_methods_are_drawn_when_their_method_is_chosen(visitor: Visitor) -> None:
    page = visitor.page
    page.goto("/new?recipe=countdown-demo&set=method.max_rounds:7")
    expect(page.locator("#new-submit")).to_be_enabled()
    rounds = field(page, "method.max_rounds")
    expect(rounds).to_be_attached()
    expect(rounds.locator("input")).to_have_count(0)
    # The value that the address gave is there when its field is.
    choose(page, "dapo")
    expect(rounds.locator("input")).to_have_value("7")
    expect(page.locator("#new-diff")).to_contain_text("7")
    # And what is typed outlasts a look at another method.
    rounds.locator("input").fill("3")
    choose(page, "bapo")
    expect(rounds).to_be_hidden()
    choose(page, "dapo")
    expect(rounds.locator("input")).to_have_value("3")


@pytest.mark.parametrize(("c1", "num_roles"), [("1/4", 6), ("0", 4)])
def test_the_threshold_map_has_the_room_that_plotly_would_give_it(visitor: Visitor, c1: str, num_roles: int) -> None:
    page = visitor.page
    page.goto(f"/new?recipe=countdown-demo&set=method.c1:{c1}")
    page.locator("#new-map-card").scroll_into_view_if_needed()
    expect(page.locator("#new-map .legend .traces")).to_have_count(num_roles)
    given, found = page.evaluate(
        """async () => {
            const graph = document.querySelector('#new-map .js-plotly-plot');
            const size = () => { const { l, r, t, b } = graph._fullLayout._size; return [l, r, t, b]; };
            const given = size();
            await Plotly.relayout(graph, { 'margin.autoexpand': true, 'margin.t': 8, 'margin.b': 44 });
            return [given, size()];
        }"""
    )
    assert given == found


def test_those_who_may_only_look_are_offered_nothing_to_make(
    page: Page, backend_server: BackendServer, dashboard: str
) -> None:
    with backend_server.client() as client:
        run = client.create_run(RunCreate(name="seen", recipe="countdown-demo", start=False))
    log_in_with(page.context, dashboard, backend_server, add_person(backend_server, "vera", "viewer"))
    for address in ("/runs", f"/runs/{run.id}", "/data"):
        page.goto(address)
        expect(page.locator("#page > *").first).to_be_visible()
        expect(page.locator("html.only-looks")).to_be_attached()
        names = re.compile("New run|Clone|Fork|Register|Stop|Delete|Start")
        expect(page.get_by_role("link", name=names)).to_have_count(0)
        expect(page.get_by_role("button", name=names)).to_have_count(0)
        if address == "/runs":
            page.get_by_role("button", name="Views").click()
            expect(page.locator("#runs-view-save")).to_be_hidden()
    for address in ("/new", "/studies/new"):
        page.goto(address)
        expect(page.get_by_role("heading", name="You may only look")).to_be_visible()


def test_a_refused_address_shows_no_summary_that_never_comes(visitor: Visitor) -> None:
    page = visitor.page
    page.goto("/new?recipe=countdown-demo&set=task.type:file")
    expect(page.locator("#new-problems")).to_contain_text("task.train_file")
    expect(page.locator("#new-cost")).to_be_hidden()
    expect(page.locator("#new-map-card")).to_be_hidden()
    choose(page, "countdown", "task.type")
    expect(page.locator("#new-cost")).to_contain_text("rollouts")
    expect(page.locator("#new-map-card")).to_be_visible()


def test_a_run_of_another_method_gets_what_the_form_showed(visitor: Visitor, backend_server: BackendServer) -> None:
    page = visitor.page
    page.goto("/new?recipe=countdown-demo")
    expect(page.locator("#new-submit")).to_be_enabled()
    choose(page, "mopps")
    field(page, "method.target_accuracy").locator("input").fill("0.4")
    expect(page.locator("#new-diff")).to_contain_text("target_accuracy")
    expect(page.locator("#new-draft")).to_be_enabled()
    page.locator("#new-draft").click()
    page.wait_for_url(re.compile("/runs/"))
    with backend_server.client() as client:
        (run,) = client.runs(method="mopps").items
        assert client.run(run.id).config["method"] == {
            "type": "mopps", "target_accuracy": 0.4, "candidates": 8, "decay": 0.5, "prior_strength": 1.0,
        }  # fmt: skip


def test_the_form_names_sources_and_offers_the_fields_of_the_chosen_task(page: Page) -> None:
    page.goto("/new?recipe=paper-math-8b")
    slot = page.locator("[data-field='method.v']")
    expect(slot.locator(".field-source")).to_have_text("Source: Table 3")
    slot.locator("input").fill("7")
    expect(slot.locator(".field-source")).to_be_hidden()
    page.get_by_role("button", name="task ·").click()
    files = page.locator("[data-field='task.test_files'] input")
    expect(files).to_have_value(
        "data/aime24/aime24.parquet, data/amc23/amc23.parquet, data/math500/math500.parquet, "
        "data/minerva/minerva.parquet, data/olympiad/olympiad.parquet"
    )
    verifier = page.locator("[data-field='task.verifier']")
    verifier.locator("input").fill("maths")
    expect(verifier).to_contain_text("did you mean math?")
    verifier.locator("input").fill("math")
    expect(page.locator("[data-field='task.num_operands']")).to_be_hidden()
    expect(page.locator("#new-diff")).to_contain_text("v")


def test_a_probe_of_what_the_form_holds_comes_before_the_run(visitor: Visitor, backend_server: BackendServer) -> None:
    page = visitor.page
    page.goto("/new?recipe=countdown-demo")
    expect(page.locator("#new-probe")).to_be_enabled()
    # A field of the method means nothing to a probe.
    field(page, "method.v").locator("input").fill("7")
    expect(page.locator("#new-diff")).to_contain_text("7")
    expect(page.locator("#new-probe")).to_be_enabled()
    page.locator("#new-probe").click()
    page.wait_for_url(re.compile("/runs/"))
    with backend_server.client() as client:
        (run,) = client.runs(method="probe").items
        assert run.name.startswith("Probe: ")
        config = client.run(run.id).config
    probe = {"type": "probe", "num_problems": 256, "planned_steps": 150, "planned_epochs": None}
    assert config["method"] == probe
    # 256 problems by 32.
    assert config["training"]["steps"] == 8
