"""Requests of the page to the server: started while the browser still sets up its scripts, and each sent once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from bapo.api.compare import ComparedCurves, Comparison
from bapo.client import ApiError
from bapo.figures import composition_grid
from bapo.figures.overlay import points_per_curve
from frontend.components.actions import FAILURES
from frontend.pages.compare.panels import usual_metrics
from frontend.pages.compare.view import SMOOTH_STRETCHES, View
from frontend.request.session import SESSION, Api

_UNDER_WAY: set[asyncio.Task[None]] = set()
"""An event loop keeps no task alive."""


class PageRequests:
    """The questions of one page that is open, whose answers its callbacks share for moments."""

    def __init__(self, api: Api, visit: str) -> None:
        """Prepare the requests; `visit` identifies the page: answers for another page or person are not reused."""
        self._client, self._shared, self._visit = api.client(), api.shared, (SESSION.get(), visit)

    def ahead(self, view: View) -> None:
        """Begin with what the page will ask for, in its order."""
        task = asyncio.create_task(self._ahead(view))
        _UNDER_WAY.add(task)
        task.add_done_callback(_UNDER_WAY.discard)

    async def _ahead(self, view: View) -> None:
        # What fails, fails again for the callback that needs it, which says so.
        with suppress(*FAILURES):
            await self.curves(view, view.metrics or usual_metrics(await self.metric_keys(view)))
            await self.comparison(view)
            await self.composition(view)

    async def metric_keys(self, view: View) -> Sequence[str]:
        """Return the metrics of the first run."""
        run_id = view.runs[0]
        found = await self._shared.get(("metric keys", self._visit, run_id), lambda: self._client.metric_keys(run_id))
        return found.items

    async def curves(self, view: View, keys: Sequence[str]) -> ComparedCurves:
        """Return the curves as the page draws them: points with their extremes, or means over stretches."""
        return await self._curves(view, keys, SMOOTH_STRETCHES if view.smooth else None)

    async def composition(self, view: View) -> ComparedCurves:
        """Return what the batches were made of, as means over stretches."""
        return await self._curves(view, composition_grid.KEYS, composition_grid.POINTS)

    async def _curves(self, view: View, keys: Sequence[str], means_over: int | None) -> ComparedCurves:
        question = (view.runs, tuple(keys), view.group, view.x, view.equal, means_over)
        return await self._shared.get(
            ("curves", self._visit, question),
            lambda: self._client.compare_curves(
                view.runs,
                keys,
                group=view.group,
                x=view.x,
                equal=view.equal,
                max_points=means_over or points_per_curve(len(view.runs)),
                reduce="means" if means_over else "extremes",
            ),
        )

    async def comparison(self, view: View) -> Comparison:
        """Return the comparison; the accuracy to reach defaults to the reference group's final one, rounded down."""
        question = (view.runs, view.group, view.x, view.equal, view.dataset, view.reach, view.reference)
        try:
            return await self._shared.get(
                ("comparison", self._visit, question),
                lambda: self._client.compare(
                    view.runs,
                    group=view.group,
                    x=view.x,
                    equal=view.equal,
                    dataset=view.dataset,
                    reach=None if view.reach is None else view.reach / 100,
                    reference=view.reference,
                    reach_final=True,
                ),
            )
        except ApiError as error:
            # Other runs may know neither the set nor the group that was chosen before.
            if error.status == 422 and error.body.field in ("dataset", "reference"):
                return await self.comparison(view._replace(dataset=None, reference=None))
            raise
