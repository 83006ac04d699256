"""Packs JSON of steps into few bytes.

All records name the same fields and most repeat the same words, so that each is compressed against an example that is
kept here rather than with it: a third of what it takes by itself.
"""

from __future__ import annotations

import threading
import zlib
from typing import Any

import orjson
from sqlalchemy import Dialect, LargeBinary
from sqlalchemy.types import TypeDecorator
from zstandard import DICT_TYPE_RAWCONTENT, ZstdCompressionDict, ZstdCompressor, ZstdDecompressor

_DEFLATE, _ZSTANDARD = b"\x01", b"\x02"
"""Formats, by what is stored first. Up to version 0.2 the first was written."""
_LEVEL = 3
"""The next level takes half as long again and saves a twentieth."""
# What is stored was compressed against this very text. Never change it: a better one is a second format.
_EXAMPLE = (
    b'[["countdown:0123456789abcdef","gsm8k:","math:"],["fresh","fresh","fresh","fresh","reused","reused","reused",'
    b'"reevaluated","reevaluated","reevaluated","reevaluated"],[0,0,0,0,1,2,3,4,5,6,7,8,8,8],[100,100,100,100,100],'
    b'[true,true,true,true,false,false,false,false],[null,null,null,null,"filtered","no_room","solved","solved",'
    b'"surplus_stored","surplus_stored","surplus_dropped","surplus_dropped","all_correct","all_correct","all_correct",'
    b'"all_wrong","all_wrong","all_wrong","still_difficult","still_difficult","still_difficult"]]'
    b'{"schema":2,"metrics":{"actor/entropy":0.1,"actor/grad_norm":0.1,"actor/kl_loss":0.1},"rewards":{"threshold":0.5,'
    b'"num_constant_groups":0,"num_rejected_groups":0,"values":[[0.0,1.0,1.0,0.0]]}}'
    b'{"schema":1,"type":"step","attempt":1,"step":100,"num_steps":471,"epoch":0,"group_size":8,"skipped":false,'
    b'"rollout_version":99,"trainer_version":99,"num_rounds":1,"counts":{"fresh":32,"x1":20,"reevaluated":20,'
    b'"improved":6,"x2":6,"solved":0,"still_difficult":20,"surplus_stored":0,"surplus_dropped":0,"x3_candidates":8,'
    b'"x3":6,"batch":32,"batch_size":32,"fill_rate":1.0},"fresh_histogram":[3,2,5,4,2,3,3,7,3],'
    b'"reevaluated_histogram":[19,2,2,2,1,1,0,0,0],"batch_histogram":[0,2,7,6,3,4,3,7,0],"thresholds":{"c1":0.125,'
    b'"c2":0.25,"c3":0.5,"r_tot":0.427734375,"difficult_max_count":1,"reusable_min_count":3,"reusable_max_count":4},'
    b'"difficult_buffer":{"size":26,"capacity":32,"age_mean":0.0,"age_max":0,"entered":5,"refreshed":21,'
    b'"left_improved":6,"evicted":5,"expired":0},"high_quality_buffer":{"size":9,"capacity":null,"age_mean":1.0,'
    b'"age_max":2,"entered":4,"refreshed":0,"left_improved":0,"evicted":0,"expired":3},"update":{"loss":-0.021,'
    b'"entropy":0.47296119762145045,"grad_norm":0.4672265261413237,"kl":0.005868191468633959,"reference_kl":null,'
    b'"clip_fraction":0.024979047368152797,"ratio_mean":1.014004334978749,"ratio_max":1.9969355202490724,'
    b'"ratio_histogram":[0,0,0,224,512,1056,2624,1280,512,192,0,0,0],"num_mini_batches":1,"num_tokens":2816,'
    b'"num_groups_skipped":0,"learning_rate":0.0003,"tv_tokens":{"fresh":0.032019392859057354,"reused":0.03,'
    b'"reevaluated":0.03985140230657648},"tv_sequences":{"fresh":0.13180286957132165,"reused":0.1,'
    b'"reevaluated":0.1709700617451214},"critic":null},"metrics":{},"rewards":null,"reward_mean":0.5390625,'
    b'"batch_reward_mean":0.51953125,"response_length_mean":10.5,"response_length_max":16,'
    b'"response_clip_ratio":0.01,"cost":{"num_rollouts":57088,"num_tokens":627968,"num_tracking_rollouts":0,'
    b'"num_evaluation_rollouts":0},"timing":{"gen":20.0,"reevaluation":3.2,"batch":0.002,"update":14.0,"step":40.0,'
    b'"step_cpu":38.0,"journal":0.0004,"elapsed":8000.0,"unix_time":1795400600.2524588},"system":'
    b'{"memory_bytes":610000000.0,"cpu_percent":91.29981511184455}}'
)


_DICTIONARY = ZstdCompressionDict(_EXAMPLE, dict_type=DICT_TYPE_RAWCONTENT)
_DICTIONARY.precompute_compress(level=_LEVEL)


class _Coders(threading.local):
    """Those of a thread: two threads may not use one at once."""

    def __init__(self) -> None:
        self.packer = ZstdCompressor(level=_LEVEL, dict_data=_DICTIONARY, write_dict_id=False)
        self.unpacker = ZstdDecompressor(dict_data=_DICTIONARY)


_coders = _Coders()


def pack(content: bytes) -> bytes:
    """Compress JSON of a step."""
    return _ZSTANDARD + _coders.packer.compress(content)


def unpack(packed: bytes) -> bytes:
    """Return the JSON that was packed."""
    if packed[:1] == _ZSTANDARD:
        return _coders.unpacker.decompress(packed[1:])
    assert packed[:1] == _DEFLATE, "a format that this version does not know"
    return zlib.decompressobj(-zlib.MAX_WBITS, zdict=_EXAMPLE).decompress(packed[1:])


class PackedJson(TypeDecorator[Any]):
    """JSON that the database holds packed and cannot look into."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes | None:
        """Pack."""
        return None if value is None else pack(orjson.dumps(value))

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> Any:
        """Unpack."""
        return None if value is None else orjson.loads(unpack(value))
