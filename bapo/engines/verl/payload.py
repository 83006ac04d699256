"""The TransferQueue keys that the verl engine keeps with a rollout group, and their form in a checkpoint."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import transfer_queue as tq
from safetensors.torch import load_file, save_file
from torch import Tensor
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from bapo.engines.local.supervised import Example
from bapo.engines.verl.agent_loop import PARTITION, ResponseSummary

ROWS_FILE = "rows.safetensors"
GROUPS_FILE = "groups.json"
_LONG_FIELDS = ("prompts", "responses", "response_mask", "position_ids")
_FLOAT_FIELDS = ("rollout_log_probs", "rm_scores")
_INPUTS = "multi_modal_inputs"


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class GroupPayload:
    """A group whose rows lie in TransferQueue for as long as this object lives."""

    uid: str
    """verl's identity of the group."""
    responses: tuple[ResponseSummary, ...]

    @property
    def keys(self) -> list[str]:
        """Row keys, in the order of the responses."""
        return [f"{self.uid}_{index}_0" for index in range(len(self.responses))]

    @property
    def rewards(self) -> tuple[int, ...]:
        """0 or 1 per response."""
        return tuple(response.reward for response in self.responses)

    @property
    def num_tokens(self) -> int:
        """Response tokens."""
        return sum(response.length for response in self.responses)


def write_payloads(folder: Path, payloads: Sequence[GroupPayload]) -> None:
    """Fetch the groups' rows and write them; all fields that a later update reads."""
    keys = [key for payload in payloads for key in payload.keys]
    tensors: dict[str, Tensor] = {}
    if keys:
        fields = [*_LONG_FIELDS, *_FLOAT_FIELDS, _INPUTS]
        data = tq.kv_batch_get(keys=keys, partition_id=PARTITION, select_fields=fields)
        for name in (*_LONG_FIELDS, *_FLOAT_FIELDS):
            for index, row in enumerate(data[name].unbind()):
                tensors[f"{index}.{name}"] = row.contiguous().clone()
        for index, inputs in enumerate(data[_INPUTS]):
            for name, tensor in getattr(inputs, "data", inputs).items():
                tensors[f"{index}.{_INPUTS}.{name}"] = tensor.contiguous().clone()
    save_file(tensors, folder / ROWS_FILE)
    groups = [{"uid": each.uid, "responses": [asdict(response) for response in each.responses]} for each in payloads]
    (folder / GROUPS_FILE).write_text(json.dumps(groups), encoding="utf-8")


def read_payloads(folder: Path) -> list[GroupPayload]:
    """Return the groups that `write_payloads` wrote, in their order, their rows put back into TransferQueue."""
    groups = json.loads((folder / GROUPS_FILE).read_text(encoding="utf-8"))
    payloads = [
        GroupPayload(group["uid"], tuple(ResponseSummary(**response) for response in group["responses"]))
        for group in groups
    ]
    uids = [payload.uid for payload in payloads for _ in payload.responses]
    rows: list[dict[str, Any]] = [{"uid": uid, _INPUTS: {}} for uid in uids]
    for name, tensor in load_file(folder / ROWS_FILE).items():
        index, field, *rest = name.split(".", 2)
        if rest:
            rows[int(index)][field][rest[0]] = tensor
        else:
            rows[int(index)][field] = tensor
    _put(payloads, rows)
    return payloads


def put_demonstrations(examples: Sequence[Example]) -> list[GroupPayload]:
    """Put worked solutions into TransferQueue as groups of one right response, whose tokens count as of probability
    1.
    """
    payloads, rows = [], []
    for prompt, response in examples:
        summary = ResponseSummary(
            len(prompt), len(response), ended=True, reward=1, reward_failed=False, logprob_sum=0.0
        )
        payloads.append(GroupPayload(uuid.uuid4().hex, (summary,)))
        scores = torch.zeros(len(response))
        scores[-1] = 1.0
        rows.append(
            {
                "uid": payloads[-1].uid,
                "prompts": torch.tensor(prompt),
                "responses": torch.tensor(response),
                "response_mask": torch.ones(len(response), dtype=torch.long),
                "position_ids": torch.arange(len(prompt) + len(response)),
                "rollout_log_probs": torch.zeros(len(response)),
                "rm_scores": scores,
                _INPUTS: {},
            }
        )
    _put(payloads, rows)
    return payloads


def _put(payloads: Sequence[GroupPayload], rows: Sequence[dict[str, Any]]) -> None:
    """Put the rows of the groups' responses into TransferQueue, with the fields that follow from others."""
    for row in rows:
        row["input_ids"] = torch.cat([row["prompts"], row["responses"]])
        row["loss_mask"] = row["response_mask"]
    if rows:
        keys = [key for payload in payloads for key in payload.keys]
        tq.kv_batch_put(keys=keys, partition_id=PARTITION, fields=list_of_dict_to_tensordict(list(rows)))
