"""The event stream."""

from __future__ import annotations

from typing import Any, Literal

from bapo.api.base import Body


class StreamEvent(Body):
    """One server-sent event.

    `step`: steps `data["from_step"]`..`data["step"]` are stored; `evaluation`, `tracking`, `event`: a record of that
    type is stored; `status`: the run's row changed, and where `data["from"]` is given its state; `alert`: an alert of
    the run was opened, resolved or acknowledged. `data["run_id"]` names the run. After a break, ask again with the last
    `id` in `Last-Event-ID`.
    """

    id: int
    event: Literal["step", "evaluation", "tracking", "event", "status", "alert"]
    data: dict[str, Any]
