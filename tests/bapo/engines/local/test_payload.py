from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.late_imports import late_imports

with late_imports():
    import torch

    from bapo.engines.local.payload import GroupPayload, read_payloads, write_payloads


def equal(one: GroupPayload, other: GroupPayload) -> bool:
    return (
        (one.prompt, one.rewards, one.sampled.lengths, one.sampled.ended)
        == (other.prompt, other.rewards, other.sampled.lengths, other.sampled.ended)
        and torch.equal(one.sampled.token_ids, other.sampled.token_ids)
        and torch.equal(one.sampled.logprobs, other.sampled.logprobs)
    )


def test_groups_come_back_bit_for_bit_and_in_order(tmp_path: Path, make_payload: Any) -> None:
    groups = [
        make_payload([5, 6], [[7, 1], [8, 9, 10]], [1, 0]),
        make_payload([4], [[1], [3, 1], [2, 2, 1]], [0, 0, 1]),
    ]
    write_payloads(tmp_path / "groups.safetensors", groups)
    restored = read_payloads(tmp_path / "groups.safetensors")
    assert len(restored) == 2
    assert all(equal(one, other) for one, other in zip(groups, restored, strict=True))


def test_no_groups_are_none_again(tmp_path: Path) -> None:
    write_payloads(tmp_path / "groups.safetensors", [])
    assert read_payloads(tmp_path / "groups.safetensors") == []
