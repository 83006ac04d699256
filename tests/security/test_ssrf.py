"""No address that people name leads into the deployment, whatever is written in it and whatever its name answers."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from urllib.parse import urlsplit

import pytest

from backend.notices.webhooks.post import Outcome, send
from backend.outbound.addresses import (
    AddressPolicy,
    ForbiddenAddressError,
    destination,
    permitted_addresses,
)
from bapo.api.webhooks import WebhookWrite
from bapo.client import ApiError, Client
from tests.support.receiver import Receiver, receiving, respond
from tests.support.refusals import refuses

PUBLIC = "93.184.215.14"


@pytest.fixture(scope="module")
def inside() -> Iterator[Receiver]:
    """A service of this machine that a webhook must not reach."""
    with receiving() as receiver:
        yield receiver


def resolver_of(*answers: Sequence[str]) -> Callable[[str, int], Sequence[str]]:
    """A resolver that gives these answers in turn, and the last one from then on."""
    asked = count()
    return lambda _host, _port: answers[min(next(asked), len(answers) - 1)]


def attempt(url: str, *answers: Sequence[str], allowed: str = "") -> Outcome:
    """One try to send to this address, with a resolver's answers."""
    resolver = resolver_of(*answers) if answers else resolver_of(["127.0.0.1"])
    return send(url, {"BAPO-Event": "test"}, b"{}", AddressPolicy.of(allowed), resolver=resolver, try_seconds=5)


FORBIDDEN = (
    *("127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),  # noqa: S104
    *("169.254.169.254", "169.254.0.1", "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192"),
    *("224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.2.1", "203.0.113.7"),
    *("::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "fd20:ce::254", "ff02::1", "fec0::1", "2001:db8::1"),
    # The same, carried in an IPv6 address: mapped, compatible, translated, 6to4, NAT64, Teredo.
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1", "::ffff:0:127.0.0.1"),
    *("2002:7f00:1::", "2002:a9fe:a9fe::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2001:0:1:2::3"),
)


@pytest.mark.parametrize("address", FORBIDDEN)
def test_no_name_leads_to_a_forbidden_address(address: str) -> None:
    target = destination("https://hooks.example.org/x")
    with pytest.raises(ForbiddenAddressError, match=r"hooks\.example\.org resolves to"):
        permitted_addresses(target, AddressPolicy(), resolver_of([address]))
    with pytest.raises(ForbiddenAddressError):
        # One forbidden address among several is one too many.
        permitted_addresses(target, AddressPolicy(), resolver_of([PUBLIC, address]))


@pytest.mark.parametrize("address", FORBIDDEN)
def test_no_address_is_written_that_is_forbidden(address: str, member: Client) -> None:
    host = f"[{address}]" if ":" in address else address
    body = WebhookWrite(name="x", url=f"http://{host}:8080/x", events=["run.failed"])
    with pytest.raises(ApiError) as refusal:
        member.create_webhook(body)
    assert (refusal.value.status, refusal.value.body.code, refusal.value.body.field) == (
        422,
        "forbidden_address",
        "url",
    )
    assert refusal.value.body.remedy


@pytest.mark.parametrize(
    "address", [PUBLIC, "8.8.8.8", "2606:4700:4700::1111", "172.32.0.1", "11.0.0.1", "100.128.0.1"]
)
def test_public_addresses_are_permitted(address: str) -> None:
    found = permitted_addresses(destination("https://hooks.example.org"), AddressPolicy(), resolver_of([address]))
    assert found == [ipaddress.ip_address(address)]


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://example.org/", "file:///etc/passwd", "gopher://example.org/", "//example.org/", "example.org", ""),
        *("javascript:alert(1)", "http:/example.org", "http://", "https:///path", "http://[::1", "http://[v1.x]/"),
        # Other ways to write 127.0.0.1, which resolvers read and checks overlook.
        *("http://2130706433/", "http://0x7f000001/", "http://0x7f.1/", "http://0177.0.0.1/", "http://017700000001/"),
        *(
            "http://127.1/",
            "http://127.0.1/",
            "http://127.0.0.1./",
            "http://0/",
            "http://127.0.0.01/",
            "http://1.2.3.4.5/",
        ),
        *(
            "http://１２７.0.0.1/",
            "http://①②⑦.0.0.1/",
            "http://ⓛocalhost/",
            "http://127。0。0。1/",
            "http://example.org。/",
        ),
        # Readers of addresses disagree about these.
        *("http://user@example.org/", "http://user:secret@example.org/", "http://example.org@127.0.0.1/"),
        *("http://example.org\\@127.0.0.1/", "http://example.org#@127.0.0.1/", "http://127.0.0.1\\.example.org/"),
        *("http://exam ple.org/", "http://example.org/\r\nX: y", "http://example.org/a b", "http://\texample.org/"),
        *("http://example.org:99999/", "http://example.org:-1/", "http://example.org:x/", "http://example.org:0/"),
        *(
            "http://exa%6dple.org/",
            "http://.example.org/",
            "http://a..b/",
            "http://-a.example.org/",
            f"http://{'a' * 64}.b/",
        ),
        *("http://[fe80::1%25eth0]/", "http://[::ffff:127.0.0.1]/", "http://[0:0:0:0:0:0:0:1]/"),
    ],
)
def test_what_is_no_plain_public_address_is_refused_when_it_is_written(url: str, member: Client) -> None:
    with refuses(422, field="url"):
        member.create_webhook(WebhookWrite.model_construct(name="x", url=url, events=["run.failed"]))


@pytest.mark.parametrize("port", [1, 22, 25, 79, 81, 442, 444, 1023])
def test_ports_of_other_services_are_refused(port: int) -> None:
    with pytest.raises(ForbiddenAddressError, match="is reserved for other services"):
        destination(f"http://example.org:{port}/")


@pytest.mark.parametrize(("url", "port"), [("http://a.b", 80), ("https://a.b", 443), ("http://a.b:1024", 1024)])
def test_ports_of_the_web_and_high_ones_are_permitted(url: str, port: int) -> None:
    assert destination(url).port == port


def test_a_name_of_this_machine_is_not_reached(inside: Receiver) -> None:
    before = len(inside.received)
    for name in ("localhost", "hooks.example.org", "127-0-0-1.example.org"):
        outcome = attempt(f"http://{name}:{urlsplit(inside.url).port}/hook", ["127.0.0.1"])
        assert outcome.problem is not None
        assert "is not a public address" in outcome.problem
        assert "BAPO_WEBHOOK_ALLOWED_HOSTS" in outcome.problem
    assert len(inside.received) == before


def test_a_name_that_changes_its_answer_is_held_to_the_one_that_was_checked(inside: Receiver) -> None:
    """DNS rebinding: a permitted address when it is checked, another one when it would be asked again to connect."""
    before = len(inside.received)
    port = urlsplit(inside.url).port
    asked: list[str] = []

    def changing(host: str, _: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.2"] if len(asked) == 1 else ["127.0.0.1"]

    url = f"http://rebind.example.org:{port}/hook"
    outcome = send(url, {}, b"{}", AddressPolicy.of("127.0.0.2"), resolver=changing)
    assert "Connection refused" in (outcome.problem or ""), "nobody listens at the address that was checked"
    assert asked == ["rebind.example.org"], "asked once: there is no second answer to fall for"
    assert len(inside.received) == before
    # At the next try it is looked up and checked anew.
    assert attempt(f"http://rebind.example.org:{port}/hook", ["127.0.0.1"]).status_code is None
    assert len(inside.received) == before


def test_a_deployment_can_vouch_for_a_network_or_a_name(inside: Receiver) -> None:
    port = urlsplit(inside.url).port
    for url, allowed in (
        (inside.url, "127.0.0.1"),
        (inside.url, "10.0.0.0/8, 127.0.0.0/8"),
        (f"http://hooks.corp.example:{port}/hook", "hooks.corp.example"),
        (f"http://hooks.corp.example:{port}/hook", "*.corp.example"),
        (f"http://a.b.corp.example:{port}/hook", "*.corp.example"),
    ):
        assert attempt(url, ["127.0.0.1"], allowed=allowed).status_code == 204, (url, allowed)
        assert inside.received[-1].headers["Host"] == urlsplit(url).netloc
    before = len(inside.received)
    for url, allowed in (
        (f"http://corp.example:{port}/hook", "*.corp.example"),
        (f"http://evilcorp.example:{port}/hook", "*.corp.example, corp.example"),
        (f"http://hooks.corp.example.evil.org:{port}/hook", "hooks.corp.example"),
        (inside.url, "127.0.0.2, 10.0.0.0/8, ::1"),
    ):
        assert attempt(url, ["127.0.0.1"], allowed=allowed).status_code is None, (url, allowed)
    assert len(inside.received) == before


def test_nobody_can_vouch_for_metadata(inside: Receiver) -> None:
    for address in ("169.254.169.254", "fd00:ec2::254", "168.63.129.16", "0.0.0.0", "::ffff:169.254.169.254"):  # noqa: S104
        outcome = attempt("http://hooks.corp.example/x", [address], allowed="hooks.corp.example, 0.0.0.0/0, ::/0")
        assert "is never permitted" in (outcome.problem or ""), address


@pytest.mark.parametrize("text", ["10.0.0.1/8", "10.0.0.0/33", "http://a.b", "a b", "*.*", "*", "a..b"])
def test_an_unreadable_list_of_permitted_receivers_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        AddressPolicy.of(text)


def test_a_redirect_into_the_deployment_is_not_followed(inside: Receiver) -> None:
    with receiving() as outside:
        for status in (301, 302, 303, 307, 308):
            outside.answer = partial(respond, status=status, Location=inside.url)
            before = len(inside.received)
            outcome = attempt(outside.url, allowed="127.0.0.1")
            assert (outcome.status_code, len(inside.received)) == (status, before)
            assert "redirects are not followed" in (outcome.problem or "")


def test_a_name_that_leads_nowhere_says_so() -> None:
    def nowhere(_host: str, _port: int) -> Sequence[str]:
        raise OSError("Name or service not known")

    outcome = send("https://nowhere.example.org", {}, b"", AddressPolicy(), resolver=nowhere)
    assert outcome.problem == "the name nowhere.example.org does not resolve: Name or service not known"
    assert attempt("https://nowhere.example.org", []).problem == "the name nowhere.example.org does not resolve"


def test_proxies_of_the_environment_are_not_used(inside: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert attempt(inside.url, allowed="127.0.0.1").status_code == 204
        assert proxy.received == []


# ---------------------------------------------------------------- only where it is told


def test_a_closed_policy_permits_what_it_names_and_nothing_else() -> None:
    target = destination("https://data.example.org/rows.jsonl")
    assert AddressPolicy.closed("", "BAPO_UPLOAD_HOSTS").permits_nothing
    for hosts in ("other.example.org", "*.data.example.org", "10.0.0.0/8"):
        with pytest.raises(ForbiddenAddressError, match=r"not permitted here: .* in BAPO_UPLOAD_HOSTS"):
            permitted_addresses(target, AddressPolicy.closed(hosts, "BAPO_UPLOAD_HOSTS"), resolver_of([PUBLIC]))
    for hosts in ("data.example.org", "*.example.org", "93.184.215.0/24", "*"):
        policy = AddressPolicy.closed(hosts, "BAPO_UPLOAD_HOSTS")
        assert permitted_addresses(target, policy, resolver_of([PUBLIC])) == [ipaddress.ip_address(PUBLIC)]


@pytest.mark.parametrize("address", FORBIDDEN)
def test_every_public_address_is_none_inside(address: str) -> None:
    target = destination("https://data.example.org/rows.jsonl")
    with pytest.raises(ForbiddenAddressError):
        permitted_addresses(target, AddressPolicy.closed("*", "BAPO_UPLOAD_HOSTS"), resolver_of([address]))


def test_a_name_that_is_not_permitted_is_not_even_looked_up() -> None:
    policy = AddressPolicy.closed("data.example.org", "BAPO_UPLOAD_HOSTS")
    policy.check_name("data.example.org")
    with pytest.raises(ForbiddenAddressError, match=r"secret\.attacker\.example is not permitted"):
        policy.check_name("secret.attacker.example")
