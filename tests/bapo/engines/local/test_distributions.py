from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest

from tests.support.late_imports import late_imports

with late_imports():
    import torch

    from bapo.engines.local import distributions
    from bapo.engines.local.distributions import choose_tokens


@pytest.mark.parametrize(
    ("uniform", "token"), [(0.0, 0), (0.2499, 0), (0.2501, 1), (0.7499, 1), (0.7501, 3), (1 - 2**-53, 3)]
)
def test_token_is_the_first_whose_cumulative_probability_exceeds_the_uniform(uniform: float, token: int) -> None:
    # Probabilities 1/4, 1/2, 0, 1/4 accumulate to 1/4, 3/4, 3/4, 1; the impossible token 2 is never drawn.
    logits = torch.tensor([[math.log(0.25), math.log(0.5), -math.inf, math.log(0.25)]])
    tokens, logprobs = choose_tokens(logits, torch.tensor([uniform], dtype=torch.float64), temperature=1.0)
    assert tokens.tolist() == [token]
    torch.testing.assert_close(logprobs, logits[:, token], atol=1e-6, rtol=0)


def test_frequencies_follow_the_probabilities() -> None:
    # 20,000 draws of p = 1/8: standard deviation sqrt(p(1-p)/n) = 0.0023; of 1/2: 0.0035; of 3/8: 0.0034.
    logits = torch.tensor([1 / 8, 1 / 2, 3 / 8]).log().expand(20_000, 3)
    uniforms = torch.rand(20_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    counts = Counter(choose_tokens(logits, uniforms, temperature=1.0)[0].tolist())
    assert [counts[token] / 20_000 for token in range(3)] == pytest.approx([1 / 8, 1 / 2, 3 / 8], abs=0.01)


def reachable(**settings: Any) -> list[int]:
    logits = torch.tensor([0.1, 0.4, 0.2, 0.3]).log().expand(400, 4)
    uniforms = torch.linspace(0, 1 - 1e-9, 400, dtype=torch.float64)
    return sorted(set(choose_tokens(logits, uniforms, temperature=1.0, **settings)[0].tolist()))


@pytest.mark.parametrize(
    ("settings", "tokens"),
    [
        ({"top_k": -1}, [0, 1, 2, 3]),
        ({"top_k": 1}, [1]),
        ({"top_k": 2}, [1, 3]),
        ({"top_k": 9}, [0, 1, 2, 3]),
        # In descending order 0.4, 0.7, 0.9, 1.0: the token that reaches the mass is the nucleus's last.
        ({"top_p": 0.39}, [1]),
        ({"top_p": 0.41}, [1, 3]),
        ({"top_p": 0.69}, [1, 3]),
        ({"top_p": 0.71}, [1, 2, 3]),
        # Of the three best, 0.4 + 0.3 + 0.2 = 0.9: half of that mass, 0.45, takes two.
        ({"top_k": 3, "top_p": 0.5}, [1, 3]),
    ],
)
def test_truncation_leaves_the_most_probable(settings: dict[str, Any], tokens: list[int]) -> None:
    assert reachable(**settings) == tokens


def test_stored_logprobs_are_those_before_truncation() -> None:
    # Token 1 alone is left and is sampled with certainty; stored is log 0.4, as π_θ is evaluated too.
    logits = torch.tensor([[0.1, 0.4, 0.2, 0.3]]).log()
    _, logprobs = choose_tokens(logits, torch.tensor([0.5], dtype=torch.float64), temperature=1.0, top_k=1)
    assert logprobs.tolist() == pytest.approx([math.log(0.4)], abs=1e-6)


def test_a_large_vocabulary_gives_the_tokens_of_one_long_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    # 1,024 tokens are 4 blocks of 256; 1,023 cannot be divided.
    draws = torch.Generator().manual_seed(0)
    logits = torch.randn(300, 1024, generator=draws) * 4
    logits[:, 512:768] = -math.inf
    uniforms = torch.rand(300, generator=draws, dtype=torch.float64)
    in_blocks = choose_tokens(logits, uniforms, temperature=0.7, top_p=0.9)
    monkeypatch.setattr(distributions, "_BLOCK", 1)
    monkeypatch.setattr(distributions, "_CHUNK", 1)
    torch.testing.assert_close(in_blocks, choose_tokens(logits, uniforms, temperature=0.7, top_p=0.9))


@pytest.mark.parametrize("vocabulary", [1024, 1023])
@pytest.mark.parametrize("uniform", [0.0, 1 - 2**-53])
def test_impossible_tokens_are_never_drawn(vocabulary: int, uniform: float) -> None:
    # The only possible tokens are 300 and 301.
    logits = torch.full((1, vocabulary), -math.inf)
    logits[0, 300:302] = torch.tensor([0.3, 0.7]).log()
    tokens, _ = choose_tokens(logits, torch.tensor([uniform], dtype=torch.float64), temperature=1.0)
    assert tokens.tolist() == [300 if uniform == 0 else 301]
