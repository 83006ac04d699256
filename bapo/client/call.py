"""What a call is, and how its description becomes a method of both clients."""

from __future__ import annotations

import functools
import uuid
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload
from urllib.parse import quote

import httpx
from pydantic import BaseModel

from bapo.client.retries import IDEMPOTENCY_KEY

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
        """The request as httpx takes it, beside method and path; `caller`: headers that name who calls."""
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
    """Turns a method that describes a call into one that makes it: at once, or awaitable on an `AwaitableCaller`."""

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


def answer(model: type[M]) -> Callable[[httpx.Response], M]:
    """Reads an answer. A newer server may answer more than this client knows."""
    return lambda response: model.model_validate_json(response.content, extra="ignore")


def nothing(_: httpx.Response) -> None:
    """Reads an answer without content."""


def get(path: str, model: type[M], **params: Any) -> Call[M]:
    """A call that reads; parameters that are None are left out."""
    return Call("GET", path, answer(model), params={key: value for key, value in params.items() if value is not None})


def post(path: str, model: type[M], body: BaseModel | None = None, **headers: str) -> Call[M]:
    """A call that makes or does something."""
    return Call("POST", path, answer(model), body=body, headers=headers)


def idempotency(key: str | None) -> dict[str, str]:
    """The header that makes a request safe to send twice; without a key of the caller's, one for this call."""
    return {IDEMPOTENCY_KEY: key or uuid.uuid4().hex}


def run_path(run_id: str, *rest: str) -> str:
    """The address of a run, or of something beneath it."""
    return "/".join(("/runs", quote(run_id, safe=""), *rest))
