"""What a call is, and how its description becomes a method of both clients."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload
from urllib.parse import quote

from pydantic import BaseModel

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request, and how to read its answer."""

    method: str
    path: str
    parse: Callable[[bytes], T]
    params: Mapping[str, Any] = field(default_factory=dict)
    body: BaseModel | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    """Sent as it is, in the place of a body."""


class Sender(Protocol):
    """A client that waits for the answer."""

    def send(self, call: Call[T]) -> T: ...


class AsyncSender(Protocol):
    """A client whose answers are awaited."""

    async def send(self, call: Call[T]) -> T: ...


class Endpoint(Generic[P, T]):
    """Turns a method that describes a call into one that makes it: at once, or awaitable on an `AsyncSender`."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self.describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, client: Sender, owner: type[Any]) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncSender, owner: type[Any]) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, client: Sender | AsyncSender | None, owner: type[Any]) -> Any:
        if client is None:
            return self

        @functools.wraps(self.describe)
        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.send(self.describe(client, *args, **kwargs))

        return call


def answer(model: type[M]) -> Callable[[bytes], M]:
    # A newer server may answer more than this client knows.
    return lambda content: model.model_validate_json(content, extra="ignore")


def nothing(_: bytes) -> None:
    return None


def get(path: str, model: type[M], **params: Any) -> Call[M]:
    return Call("GET", path, answer(model), params={key: value for key, value in params.items() if value is not None})


def post(path: str, model: type[M], body: BaseModel | None = None, **headers: str) -> Call[M]:
    return Call("POST", path, answer(model), body=body, headers=headers)


def run_path(run_id: str, *rest: str) -> str:
    return "/".join(("/runs", quote(run_id, safe=""), *rest))
