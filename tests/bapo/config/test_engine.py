"""The `engine` section."""

from __future__ import annotations

from typing import Any

import pytest

from bapo.config import ConfigError, apply_changes, resolve


def _resolve(**changes: Any) -> Any:
    return resolve(apply_changes({}, {f"engine.{name.replace('__', '.')}": value for name, value in changes.items()}))


def test_the_local_engine_is_the_default() -> None:
    assert _resolve().config.engine.type == "local"


def test_verl_takes_its_fields() -> None:
    engine = _resolve(type="verl", verl__gpus_per_node=8, verl__tensor_parallel=2).config.engine
    assert (engine.type, engine.verl.gpus_per_node, engine.verl.tensor_parallel) == ("verl", 8, 2)


@pytest.mark.parametrize(("field", "value"), [("gpus_per_node", 2), ("ray_address", "10.0.0.1:6379")])
def test_the_local_engine_takes_none_of_them(field: str, value: object) -> None:
    with pytest.raises(ConfigError, match=rf"engine\.verl\.{field} = .*set engine.type to verl"):
        _resolve(**{f"verl__{field}": value})


def test_each_engine_has_a_number_format_of_its_own() -> None:
    assert _resolve(dtype="bfloat16").config.engine.dtype == "bfloat16"
    with pytest.raises(ConfigError, match=r"engine\.dtype = 'bfloat16': this is .* set engine\.verl\.dtype"):
        _resolve(type="verl", dtype="bfloat16")
    with pytest.raises(ConfigError, match=r"engine\.rollout_weights = 'bfloat16': this is .* engine\.verl\.dtype"):
        _resolve(type="verl", rollout_weights="bfloat16")


@pytest.mark.parametrize("tensor_parallel", [1, 2, 4])
def test_copies_of_the_model_fill_the_gpus(tensor_parallel: int) -> None:
    _resolve(type="verl", verl__gpus_per_node=4, verl__tensor_parallel=tensor_parallel)


@pytest.mark.parametrize("tensor_parallel", [3, 8])
def test_copies_that_do_not_are_refused(tensor_parallel: int) -> None:
    with pytest.raises(ConfigError, match=rf"engine\.verl\.tensor_parallel = {tensor_parallel}.*a divisor of 4"):
        _resolve(type="verl", verl__gpus_per_node=4, verl__tensor_parallel=tensor_parallel)


def test_several_machines_need_a_cluster() -> None:
    with pytest.raises(ConfigError, match=r"engine\.verl\.ray_address: several machines need a Ray cluster"):
        _resolve(type="verl", verl__nodes=2)
    _resolve(type="verl", verl__nodes=2, verl__ray_address="10.0.0.1:6379")


@pytest.mark.parametrize("address", ["auto", "10.0.0.1:6379", "ray://head.example.org:10001", "[fd00::1]:6379"])
def test_a_cluster_is_named_by_host_and_port(address: str) -> None:
    _resolve(type="verl", verl__ray_address=address)


@pytest.mark.parametrize("address", ["module://x", "os", "http://10.0.0.1:6379", "10.0.0.1"])
def test_an_address_that_ray_would_import_is_refused(address: str) -> None:
    with pytest.raises(
        ConfigError, match=r"engine\.verl\.ray_address = .*: not an address of a Ray cluster: give host"
    ):
        _resolve(type="verl", verl__ray_address=address)


def test_megatron_takes_its_sizes() -> None:
    sizes = {"verl__megatron_tensor_parallel": 2, "verl__megatron_pipeline_parallel": 4}
    _resolve(type="verl", verl__strategy="megatron", verl__gpus_per_node=8, **sizes)
    with pytest.raises(ConfigError, match=r"engine\.verl\.megatron_pipeline_parallel = 4: 4 GPUs .* on 8 each"):
        _resolve(type="verl", verl__strategy="megatron", verl__gpus_per_node=4, **sizes)


@pytest.mark.parametrize("field", ["megatron_tensor_parallel", "megatron_pipeline_parallel"])
def test_fsdp_takes_no_sizes_of_megatron(field: str) -> None:
    with pytest.raises(ConfigError, match=rf"engine\.verl\.{field} = 2: .*set engine\.verl\.strategy to megatron"):
        _resolve(type="verl", verl__gpus_per_node=2, **{f"verl__{field}": 2})


@pytest.mark.parametrize(("field", "value"), [("device", "cpu"), ("verl__dtype", "float32")])
def test_megatron_computes_in_bfloat16_on_gpus(field: str, value: str) -> None:
    with pytest.raises(ConfigError, match="Megatron"):
        _resolve(type="verl", verl__strategy="megatron", **{field: value})
