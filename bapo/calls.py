"""Every call of the API once: method, path, what is sent and what comes back."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload
from urllib.parse import quote

from pydantic import BaseModel

from bapo.api import (
    AttemptOutcome,
    BatchAccepted,
    Claim,
    ClaimRequest,
    ConfigDraft,
    ConfigFieldPage,
    ConfigReport,
    ControlInfo,
    HeartbeatAnswer,
    HistogramSeries,
    History,
    ImportCreate,
    ImportInfo,
    LogChunk,
    MetricKeys,
    ParameterChange,
    PromptPage,
    PromptSummary,
    RecipeInfo,
    RecipePage,
    RecordBatch,
    RecordPage,
    RunCreate,
    RunDetail,
    RunPage,
    RunSummary,
    RunUpdate,
    SamplePage,
    Series,
    UserInfo,
    WorkerHeartbeat,
    WorkerPage,
    WorkerRegistration,
    WorkerWelcome,
)

if TYPE_CHECKING:
    from bapo.client import AsyncClient, Client

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


class Endpoint(Generic[P, T]):
    """Turns a method that describes a call into one that makes it: at once, or awaitable on an `AsyncClient`."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self.describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, client: Client, owner: type[Any]) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type[Any]) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type[Any]) -> Any:
        if client is None:
            return self

        @functools.wraps(self.describe)
        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.send(self.describe(client, *args, **kwargs))

        return call


def answer(model: type[M]) -> Callable[[bytes], M]:
    # A newer server may answer more than this client knows.
    return lambda content: model.model_validate_json(content, extra="ignore")


def _nothing(_: bytes) -> None:
    return None


def get(path: str, model: type[M], **params: Any) -> Call[M]:
    return Call("GET", path, answer(model), params={key: value for key, value in params.items() if value is not None})


def post(path: str, model: type[M], body: BaseModel | None = None, **headers: str) -> Call[M]:
    return Call("POST", path, answer(model), body=body, headers=headers)


def run_path(run_id: str, *rest: str) -> str:
    return "/".join(("/runs", quote(run_id, safe=""), *rest))


class Calls:
    """The table of calls."""

    # ------------------------------------------------------------ who

    @Endpoint
    def me(self) -> Call[UserInfo]:
        """The caller."""
        return get("/me", UserInfo)

    @Endpoint
    def logout(self) -> Call[None]:
        """End the session that the client's cookie stands for."""
        return Call("POST", "/auth/logout", _nothing)

    # ------------------------------------------------------------ configs

    @Endpoint
    def recipes(self) -> Call[RecipePage]:
        """All recipes."""
        return get("/recipes", RecipePage)

    @Endpoint
    def recipe(self, name: str) -> Call[RecipeInfo]:
        """One recipe."""
        return get(f"/recipes/{quote(name, safe='')}", RecipeInfo)

    @Endpoint
    def config_fields(self) -> Call[ConfigFieldPage]:
        """Each config field's meaning, range and default."""
        return get("/config-fields", ConfigFieldPage)

    @Endpoint
    def validate(self, draft: ConfigDraft) -> Call[ConfigReport]:
        """Check a config. Raises ApiError 422 with every problem."""
        return post("/configs/validate", ConfigReport, draft)

    # ------------------------------------------------------------ runs

    @Endpoint
    def create_run(self, body: RunCreate, idempotency_key: str | None = None) -> Call[RunDetail]:
        """Submit a run; the same key again answers the run that the first request made."""
        return post("/runs", RunDetail, body, **{"Idempotency-Key": idempotency_key or uuid.uuid4().hex})

    @Endpoint
    def runs(
        self,
        *,
        status: Sequence[str] | str | None = None,
        method: Sequence[str] | str | None = None,
        tag: Sequence[str] | str | None = None,
        group: str | None = None,
        search: str | None = None,
        sort: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Call[RunPage]:
        """A page of runs; `sort` is a column, with `-` before it for descending, such as `-created_at`."""
        return get(
            "/runs",
            RunPage,
            status=status,
            method=method,
            tag=tag,
            group=group,
            search=search,
            sort=sort,
            cursor=cursor,
            limit=limit,
        )

    @Endpoint
    def run(self, run_id: str) -> Call[RunDetail]:
        """One run."""
        return get(run_path(run_id), RunDetail)

    @Endpoint
    def update_run(self, run_id: str, body: RunUpdate) -> Call[RunDetail]:
        """Change name, tags or notes."""
        return Call("PATCH", run_path(run_id), answer(RunDetail), body=body)

    @Endpoint
    def delete_run(self, run_id: str) -> Call[None]:
        """Forget a draft or an ended run; its folder stays."""
        return Call("DELETE", run_path(run_id), _nothing)

    @Endpoint
    def start(self, run_id: str) -> Call[RunDetail]:
        """Queue a draft."""
        return post(run_path(run_id, "start"), RunDetail)

    @Endpoint
    def stop(self, run_id: str) -> Call[RunDetail]:
        """Cancel at the next step boundary, after a checkpoint."""
        return post(run_path(run_id, "stop"), RunDetail)

    @Endpoint
    def pause(self, run_id: str) -> Call[RunDetail]:
        """Stop at the next step boundary, to be resumed later."""
        return post(run_path(run_id, "pause"), RunDetail)

    @Endpoint
    def resume(self, run_id: str) -> Call[RunDetail]:
        """Queue a paused run again."""
        return post(run_path(run_id, "resume"), RunDetail)

    @Endpoint
    def clone(self, run_id: str, body: RunCreate) -> Call[RunDetail]:
        """Submit a run that starts from another one's config."""
        return post(run_path(run_id, "clone"), RunDetail, body, **{"Idempotency-Key": uuid.uuid4().hex})

    @Endpoint
    def change_parameters(self, run_id: str, body: ParameterChange) -> Call[ControlInfo]:
        """New values for a running run, at a step boundary."""
        return post(run_path(run_id, "parameters"), ControlInfo, body)

    @Endpoint
    def history(self, run_id: str) -> Call[History]:
        """Who did what, and what became of each request."""
        return get(run_path(run_id, "history"), History)

    # ------------------------------------------------------------ what a run recorded

    @Endpoint
    def metric_keys(self, run_id: str) -> Call[MetricKeys]:
        """Names of the metrics that the run has."""
        return get(run_path(run_id, "metric-keys"), MetricKeys)

    @Endpoint
    def metrics(
        self,
        run_id: str,
        keys: Sequence[str],
        from_step: int | None = None,
        to_step: int | None = None,
        max_points: int | None = None,
    ) -> Call[Series]:
        """Columns of metrics; with `max_points`, a sample of the steps that keeps each column's extremes."""
        return get(
            run_path(run_id, "metrics"),
            Series,
            keys=",".join(keys),
            from_step=from_step,
            to_step=to_step,
            max_points=max_points,
        )

    @Endpoint
    def histograms(
        self,
        run_id: str,
        from_step: int | None = None,
        to_step: int | None = None,
        max_points: int | None = None,
    ) -> Call[HistogramSeries]:
        """Groups per accuracy 0/G..G/G, step by step; with `max_points`, evenly spaced steps."""
        return get(
            run_path(run_id, "histograms"), HistogramSeries, from_step=from_step, to_step=to_step, max_points=max_points
        )

    @Endpoint
    def records(
        self,
        run_id: str,
        type: str | None = None,
        from_step: int | None = None,
        to_step: int | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Call[RecordPage]:
        """Whole records of one type (`step`, `evaluation`, `tracking`, `event`), by step."""
        return get(
            run_path(run_id, "records"),
            RecordPage,
            type=type,
            from_step=from_step,
            to_step=to_step,
            cursor=cursor,
            limit=limit,
        )

    @Endpoint
    def prompts(
        self, run_id: str, search: str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> Call[PromptPage]:
        """Training prompts with their visits."""
        return get(run_path(run_id, "prompts"), PromptPage, search=search, cursor=cursor, limit=limit)

    @Endpoint
    def prompt(self, run_id: str, prompt_id: str) -> Call[PromptSummary]:
        """One training prompt with its visits."""
        return get(run_path(run_id, "prompts", quote(prompt_id, safe="")), PromptSummary)

    @Endpoint
    def samples(
        self,
        run_id: str,
        step: int | None = None,
        prompt_id: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Call[SamplePage]:
        """Responses kept as text, newest step first."""
        return get(run_path(run_id, "samples"), SamplePage, step=step, prompt_id=prompt_id, cursor=cursor, limit=limit)

    @Endpoint
    def log(self, run_id: str, offset: int | None = None) -> Call[LogChunk]:
        """The trainer's output after an offset; without one, its end."""
        return get(run_path(run_id, "log"), LogChunk, offset=offset)

    # ------------------------------------------------------------ imports

    @Endpoint
    def create_import(self, body: ImportCreate) -> Call[ImportInfo]:
        """Begin, or continue, to import a folder."""
        return post("/imports", ImportInfo, body)

    @Endpoint
    def import_records(self, run_id: str, body: RecordBatch) -> Call[BatchAccepted]:
        """Lines of an imported folder."""
        return post(f"/imports/{quote(run_id, safe='')}/records", BatchAccepted, body)

    @Endpoint
    def finish_import(self, run_id: str) -> Call[RunDetail]:
        """All lines are there: the run takes the state that its journal ends in."""
        return post(f"/imports/{quote(run_id, safe='')}/finish", RunDetail)

    # ------------------------------------------------------------ workers

    @Endpoint
    def workers(self) -> Call[WorkerPage]:
        """The workers, for people."""
        return get("/workers", WorkerPage)

    @Endpoint
    def register_worker(self, body: WorkerRegistration) -> Call[WorkerWelcome]:
        """A worker introduces itself."""
        return post("/workers/register", WorkerWelcome, body)

    @Endpoint
    def heartbeat(self, body: WorkerHeartbeat) -> Call[HeartbeatAnswer]:
        """A worker says what it is running, and hears what to do."""
        return post("/workers/heartbeat", HeartbeatAnswer, body)

    @Endpoint
    def claim(self, run_id: str, body: ClaimRequest) -> Call[Claim]:
        """Take an assigned run. Raises ApiError 409 where it is taken already."""
        return post(f"/workers/runs/{quote(run_id, safe='')}/claim", Claim, body)

    @Endpoint
    def post_records(self, run_id: str, body: RecordBatch) -> Call[BatchAccepted]:
        """Upload lines of an attempt's file. Raises ApiError 409 with a stale fencing token."""
        return post(f"/workers/runs/{quote(run_id, safe='')}/records", BatchAccepted, body)

    @Endpoint
    def post_outcome(self, run_id: str, body: AttemptOutcome) -> Call[RunSummary]:
        """Say that a trainer is up, or how it ended. Raises ApiError 409 with a stale fencing token."""
        return post(f"/workers/runs/{quote(run_id, safe='')}/outcome", RunSummary, body)
