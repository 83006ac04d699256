"""Training problems that a config leaves out."""

from __future__ import annotations

import pytest

from bapo.config import ConfigError
from bapo.config.task import CountdownTaskConfig
from bapo.tasks import build_task

SECTION = CountdownTaskConfig(num_train=20, num_test=4)


def test_excluded_prompts_are_not_trained_on_and_the_others_keep_their_order() -> None:
    every = [problem.prompt_id for problem in build_task(SECTION).train]
    section = SECTION.model_copy(update={"exclude_prompts": (every[3], every[7], "countdown:unknown")})
    task = build_task(section)
    assert [problem.prompt_id for problem in task.train] == [*every[:3], *every[4:7], *every[8:]]
    # Held-out problems stay as they are, whatever is listed.
    assert task.evaluation_sets == build_task(SECTION).evaluation_sets


@pytest.mark.parametrize(("place", "said"), [(slice(0, 20), "no training problem is left"), (slice(0, 0), "none of")])
def test_a_list_of_all_prompts_or_of_another_task_is_refused(place: slice, said: str) -> None:
    every = [problem.prompt_id for problem in build_task(SECTION).train]
    section = SECTION.model_copy(update={"exclude_prompts": (*every[place], "other:1")})
    with pytest.raises(ConfigError, match=said) as caught:
        build_task(section)
    assert caught.value.problems[0].field == "task.exclude_prompts"
