"""JSON of steps is stored in few bytes, and what was stored once is read forever."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.models.packed_json import pack, unpack
from bapo.records import dump_record
from tests.support.journals import step

CONTENT = b'{"schema":1,"type":"step","step":7,"timing":{"unix_time":1.5},"prompts":[["countdown:00ff"],["fresh"]]}'
DEFLATED = bytes.fromhex("01c3537f435c6f8e1c14c84ed23305ba01582601ab7870e300b9556b909686d47005b61300")
ZSTANDARD = bytes.fromhex(
    "0228b52ffd2067750100903a372e357d2c2270726f6d703066665d5d7d0800bc82c6640b04d8108b96e780c362543eb7317c9e2008180201"
)
"""As databases hold it, up to version 0.2 and since: a change that cannot read these loses what they recorded."""


@pytest.mark.parametrize("packed", [DEFLATED, ZSTANDARD], ids=["deflated", "zstandard"])
def test_what_was_packed_in_any_format_is_read(packed: bytes) -> None:
    assert unpack(packed) == CONTENT


def test_threads_pack_side_by_side() -> None:
    contents = [dump_record(step(number)) for number in range(1, 200)]
    with ThreadPoolExecutor(8) as threads:
        packed = list(threads.map(pack, contents * 5))
        assert list(threads.map(unpack, packed)) == contents * 5


@given(st.binary(max_size=5_000))
def test_any_content_comes_back(content: bytes) -> None:
    assert unpack(pack(content)) == content


def test_a_record_takes_less_than_a_third() -> None:
    line = dump_record(step(1))
    assert len(pack(line)) < len(line) / 3
    assert orjson.loads(unpack(pack(line)))["step"] == 1


def test_an_unknown_format_is_not_read_as_this_one() -> None:
    with pytest.raises(AssertionError, match="format"):
        unpack(b"\x03" + ZSTANDARD[1:])
