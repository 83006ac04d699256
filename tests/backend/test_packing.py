"""JSON of steps is stored in few bytes, and what was stored once is read forever."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.models.packing import pack, unpack
from bapo.records import dump_record
from tests.backend.journals import step

CONTENT = b'{"schema":1,"type":"step","step":7,"timing":{"unix_time":1.5},"prompts":[["countdown:00ff"],["fresh"]]}'
PACKED = bytes.fromhex("01c3537f435c6f8e1c14c84ed23305ba01582601ab7870e300b9556b909686d47005b61300")
"""As databases hold it: a change that cannot read this loses what they recorded."""


def test_what_was_packed_by_the_first_release_that_packs_is_read() -> None:
    assert unpack(PACKED) == CONTENT


@given(st.binary(max_size=5_000))
def test_any_content_comes_back(content: bytes) -> None:
    assert unpack(pack(content)) == content


def test_a_record_takes_less_than_a_third() -> None:
    line = dump_record(step(1))
    assert len(pack(line)) < len(line) / 3
    assert orjson.loads(unpack(pack(line)))["step"] == 1


def test_an_unknown_format_is_not_read_as_this_one() -> None:
    with pytest.raises(AssertionError, match="format"):
        unpack(b"\x02" + PACKED[1:])
