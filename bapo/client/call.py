"""A call of the API, and its method in both clients."""

from __future__ import annotations

import functools
import inspect
import random
import re
import uuid
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, get_type_hints, overload
from urllib.parse import quote

import httpx
from pydantic import BaseModel

from bapo.client.errors import PASSING_STATUSES

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request, and how to read its answer."""

    method: str
    path: str
    parse: Callable[[httpx.Response], T]
    params: Mapping[str, Any] = field(default_factory=dict)
    body: BaseModel | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    """Sent as it is, in the place of a body."""

    def arguments(self, caller: Mapping[str, str]) -> dict[str, Any]:
        """Return the request's further arguments for httpx; `caller`: headers that identify the caller."""
        headers = {**caller, **self.headers}
        content = self.content
        if self.body is not None:
            content = self.body.model_dump_json(exclude_unset=True).encode()
            headers["Content-Type"] = "application/json"
        elif content is not None:
            headers["Content-Type"] = "application/octet-stream"
        return {"params": self.params, "content": content, "headers": headers}


class BlockingCaller(ABC):
    """Makes calls and returns their answers."""

    @abstractmethod
    def send(self, call: Call[T]) -> T:
        """Make one call."""


class AwaitableCaller(ABC):
    """Makes calls whose answers are awaited."""

    @abstractmethod
    async def send(self, call: Call[T]) -> T:
        """Make one call."""


class Endpoint(Generic[P, T]):
    """Turns a method that describes a call into one that makes it: at once, or awaitable on an `AwaitableCaller`.

    Most are declared by `route`; this is for a call whose arguments become a request in another way.
    """

    def __init__(self, describe: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self.describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, client: BlockingCaller, owner: type[Any]) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AwaitableCaller, owner: type[Any]) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, client: BlockingCaller | AwaitableCaller | None, owner: type[Any]) -> Any:
        if client is None:
            return self

        @functools.wraps(self.describe)
        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.send(self.describe(client, *args, **kwargs))

        return call


def route(address: str) -> Callable[[Callable[Concatenate[Any, P], T]], Endpoint[P, T]]:
    """Declare a call by its signature, such as `@route("GET /runs/{run_id}") def run(self, run_id: str) -> RunDetail`.

    Parameters in the address are substituted; a model is the body, bytes are sent as they are, `idempotency_key` is
    a header. All others that are not None are the query. The answer is read as the return type.
    """
    method, path = address.split(" ")

    def declared(function: Callable[Concatenate[Any, P], T]) -> Endpoint[P, T]:
        @functools.wraps(function)
        def describe(_: Any, /, *args: P.args, **kwargs: P.kwargs) -> Call[T]:
            return _call(method, path, function, args, kwargs)

        return Endpoint(describe)

    return declared


@dataclass(frozen=True)
class InQuery:
    """Marks a parameter that the query has under another name, or as a text that is made of it."""

    name: str | None = None
    text: Callable[[Any], str] | None = None

    def written(self, name: str, value: Any) -> tuple[str, Any]:
        """Name and value as httpx takes them; a list is sent as the name several times."""
        if self.text is not None:
            value = self.text(value)
        elif isinstance(value, Collection) and not isinstance(value, str):
            value = list(value)
        return self.name or name, value


def joined(values: Sequence[object]) -> str:
    """Return values as one text, with commas."""
    return ",".join(map(str, values))


Keys = Annotated[Sequence[str], InQuery(text=joined)]
"""Names of metrics."""


def _call(
    method: str, path: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Call[Any]:
    signature, types = _declaration(function)
    bound = signature.bind(None, *args, **kwargs)
    bound.apply_defaults()
    given = {name: value for name, value in bound.arguments.items() if name != "self"}
    headers = idempotency(given.pop("idempotency_key")) if "idempotency_key" in given else {}
    places = {name: quote(str(given.pop(name)), safe="") for name in re.findall(r"{(\w+)}", path)}
    body, content, params = None, None, dict[str, Any]()
    for name, value in given.items():
        match value:
            case None:
                pass
            case BaseModel():
                body = value
            case bytes():
                content = value
            case _:
                (mark,) = getattr(types[name], "__metadata__", (InQuery(),))
                params |= [mark.written(name, value)]
    parse = nothing if types["return"] is type(None) else answer(types["return"])
    return Call(method, path.format(**places), parse, params, body, headers, content)


@functools.cache
def _declaration(function: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, Any]]:
    """Return parameters and types, read at the first call: reading those of all calls would slow down the import."""
    return inspect.signature(function), get_type_hints(function, include_extras=True)


def answer(model: type[M]) -> Callable[[httpx.Response], M]:
    """Return the parser of an answer, which ignores fields that a newer server adds."""
    return lambda response: model.model_validate_json(response.content, extra="ignore")


def nothing(_: httpx.Response) -> None:
    """Ignore an answer without content."""


def get(path: str, model: type[M], **params: Any) -> Call[M]:
    """Return a call that reads; parameters that are None are left out."""
    return Call("GET", path, answer(model), params={key: value for key, value in params.items() if value is not None})


def post(path: str, model: type[M], body: BaseModel) -> Call[M]:
    """Return a call that creates or changes something."""
    return Call("POST", path, answer(model), body=body)


def idempotency(key: str | None) -> dict[str, str]:
    """Return the header that makes a request idempotent; without the caller's key, with a new one."""
    return {IDEMPOTENCY_KEY: key or uuid.uuid4().hex}


def run_path(run_id: str, *rest: str) -> str:
    """Return the address of a run, or of a resource beneath it."""
    return "/".join(("/runs", quote(run_id, safe=""), *rest))


SAFE_METHODS = frozenset({"GET", "HEAD"})
IDEMPOTENCY_KEY = "Idempotency-Key"


@dataclass(frozen=True)
class Retries:
    """Up to `count` further tries, with waits that double and are drawn between half and all of that.

    Only what cannot happen twice is sent again: reading, and requests that carry an `Idempotency-Key`.
    """

    count: int
    first_seconds: float = 0.5
    most_seconds: float = 8.0

    def wait_seconds(
        self, method: str, headers: Mapping[str, str], tried: int, answer: httpx.Response | None
    ) -> float | None:
        """Return the delay before the next try; None if this answer, or its absence, is final."""
        if tried >= self.count or (method not in SAFE_METHODS and IDEMPOTENCY_KEY not in headers):
            return None
        if answer is None:
            return self.pause_seconds(tried)
        if answer.status_code not in PASSING_STATUSES:
            return None
        asked = answer.headers.get("Retry-After", "")
        return min(float(asked), self.most_seconds) if asked.isdigit() else self.pause_seconds(tried)

    def pause_seconds(self, tried: int) -> float:
        """Return the wait after so many tries."""
        longest: float = min(self.most_seconds, self.first_seconds * 2 ** min(tried, 16))
        return longest * random.uniform(0.5, 1.0)
