from __future__ import annotations

import pytest

from tests.support.late_imports import late_imports

with late_imports():
    import torch

    from bapo.engines.local.repetition import Repetitions, RepetitionStop


def stop() -> RepetitionStop:
    """At least 4 times in 8 tokens."""
    return RepetitionStop(num_tokens=8, count=4)


@pytest.mark.parametrize(
    ("tokens", "ends"),
    [
        ([5] * 8, True),
        # One token fewer than n.
        ([5] * 7, False),
        # 4 times the period of 2, and behind something else.
        ([1, 2] * 4, True),
        ([7, 7, 3, 1, 2, 1, 2, 1, 2, 1, 2], True),
        ([1, 2, 1, 2, 1, 2, 1, 3], False),
        # Within 8 tokens a period of 3 fits fewer than 4 times, however long the response is.
        ([1, 2, 3] * 9, False),
        ([], False),
    ],
)
def test_a_response_ends_when_its_last_tokens_repeat_a_period_often_enough(tokens: list[int], ends: bool) -> None:
    assert stop().applies(torch.tensor(tokens, dtype=torch.long)) == ends


def test_rows_are_judged_token_by_token_and_from_where_they_were_begun() -> None:
    repetitions = Repetitions(stop(), 3, torch.device("cpu"))
    # The third row's place gets another response, of which 6 tokens are known.
    repetitions.add(torch.tensor([4, 4, 9]))
    repetitions.begin(torch.tensor([2]), [[1, 2, 1, 2, 1, 2]])
    ended_at: dict[int, int] = {}
    for number, tokens in enumerate([[4, 5, 1], [4, 4, 2], *[[4, 5, 3]] * 6], start=2):
        repetitions.add(torch.tensor(tokens))
        for row in repetitions.have_ended().nonzero().flatten().tolist():
            ended_at.setdefault(row, number)
    # The first row has 8 equal tokens after its 8th; the second 5 after 4, 5, 4; the third 4 times 1, 2 after two more.
    assert ended_at == {0: 8, 2: 3}
    repetitions.keep_rows(torch.tensor([0, 2]))
    assert repetitions.have_ended().tolist() == [True, False]
