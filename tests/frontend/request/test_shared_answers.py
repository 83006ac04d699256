"""Answers that several viewers are given."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from frontend.request.shared_answers import SharedAnswers


class Maker:
    """Answers with how often it was asked, once it is let go."""

    def __init__(self, error: Exception | None = None) -> None:
        self.count = 0
        self.may_end = asyncio.Event()
        self._error = error

    async def __call__(self) -> int:
        self.count += 1
        count = self.count
        await self.may_end.wait()
        if self._error is not None and count == 1:
            raise self._error
        return count


async def begun(shared: SharedAnswers, make: Maker, viewers: int) -> list[asyncio.Task[int]]:
    tasks = [asyncio.create_task(shared.get("step 7", make)) for _ in range(viewers)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


def test_who_asks_the_same_at_once_or_soon_after_is_given_one_answer() -> None:
    async def scene() -> list[int]:
        shared, make = SharedAnswers(), Maker()
        tasks = await begun(shared, make, 3)
        make.may_end.set()
        return [*await asyncio.gather(*tasks), await shared.get("step 7", make), await shared.get("step 8", make)]

    assert asyncio.run(scene()) == [1, 1, 1, 1, 2]


def test_an_answer_is_not_kept_for_long() -> None:
    async def scene() -> list[int]:
        shared, make = SharedAnswers(kept_seconds=-1.0), Maker()
        make.may_end.set()
        return [await shared.get("step 7", make) for _ in range(2)]

    assert asyncio.run(scene()) == [1, 2]


def test_who_asked_first_may_leave() -> None:
    async def scene() -> int:
        shared, make = SharedAnswers(), Maker()
        first, second = await begun(shared, make, 2)
        first.cancel()
        make.may_end.set()
        return await second

    assert asyncio.run(scene()) == 1


def test_one_viewers_failure_is_no_others() -> None:
    async def scene() -> list[object]:
        shared, make = SharedAnswers(), Maker(ValueError("a session that has ended"))
        tasks = await begun(shared, make, 2)
        make.may_end.set()
        found: list[object] = list(await asyncio.gather(*tasks, return_exceptions=True))
        return [type(found[0]), found[1], await shared.get("step 7", make)]

    assert asyncio.run(scene()) == [ValueError, 2, 3]


def test_the_oldest_makes_room_beyond_a_bound() -> None:
    def constant(value: int) -> Callable[[], asyncio.Future[int]]:
        def make() -> asyncio.Future[int]:
            future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            future.set_result(value)
            return future

        return make

    async def scene() -> list[int]:
        shared = SharedAnswers(most_kept=2)
        for key in range(3):
            await shared.get(key, constant(key))
            await asyncio.sleep(0.01)
        return [await shared.get(key, constant(10 + key)) for key in (2, 1, 0)]

    assert asyncio.run(scene()) == [2, 1, 10]


def test_what_made_room_before_it_was_there_is_still_answered() -> None:
    async def scene() -> list[int]:
        shared, make, other = SharedAnswers(most_kept=1), Maker(), Maker()
        tasks = await begun(shared, make, 2)
        other.may_end.set()
        second = await shared.get("step 8", other)
        make.may_end.set()
        return [*await asyncio.gather(*tasks), second, await shared.get("step 8", other)]

    assert asyncio.run(scene()) == [1, 1, 1, 1]
