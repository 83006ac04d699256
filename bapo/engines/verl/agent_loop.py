"""Rollouts on verl's agent loop: seeded sampling, our verifiers, and an answer when all responses are there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import ray
import transfer_queue as tq
from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, register
from verl.experimental.agent_loop.single_turn_agent_loop import SingleTurnAgentLoop
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ, AgentLoopWorkerTQ

from bapo.config.task import TaskSection
from bapo.draws import seed_of
from bapo.tasks import Verifier, verifier
from bapo.tasks.base import Problem

AGENT_NAME = "bapo_single_turn"
PARTITION = "train"
"""Partition of TransferQueue."""
REWARD_FAILED = "bapo_reward_failed"


@dataclass(frozen=True, slots=True)
class ResponseSummary:
    """The part of a response that the loop needs; everything else stays in TransferQueue."""

    prompt_length: int
    """Tokens."""
    length: int
    """Tokens, the end token included."""
    ended: bool
    """True if it ended by itself, not at the token limit."""
    reward: int
    reward_failed: bool
    """The verifier raised; the reward is then 0."""
    logprob_sum: float
    """Natural log of the behaviour policy's probability of the whole response."""


@register(AGENT_NAME)
class BapoAgentLoop(SingleTurnAgentLoop):  # type: ignore[misc]
    """One prompt, one response, verified on the spot."""

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        """Generate with the row's own seed, so that a draw depends on nothing else in the batch."""
        seed = seed_of(row["seed"], row["session_id"], row["prompt_id"])
        output: AgentLoopOutput = await super().run({**sampling_params, "seed": seed}, **row)
        problem = Problem(row["prompt_id"], row["data_source"], row["prompt"], row["answer"])
        text = self.tokenizer.decode(output.response_ids, skip_special_tokens=True)
        begin = time.perf_counter()
        # In a thread, since one that compares mathematics takes its time, and other responses go on meanwhile.
        verdict = await asyncio.to_thread(row["verifier"].judge, problem, text)
        output.metrics.compute_score = time.perf_counter() - begin
        output.reward_score = float(verdict.reward)
        output.extra_fields[REWARD_FAILED] = verdict.failed
        return output


class BapoAgentLoopWorker(AgentLoopWorkerTQ.__ray_metadata__.modified_class):  # type: ignore[misc]
    """verl's worker, which also says when all of a batch is done and what came out."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._summaries: dict[str, ResponseSummary] = {}
        self._errors: list[BaseException] = []
        self._reward_seconds = 0.0

    async def roll_out(
        self, batch: Any, task: TaskSection, end_token_ids: Sequence[int]
    ) -> tuple[dict[str, ResponseSummary], float]:
        """Generate the whole batch into TransferQueue; return the summaries by row key, and seconds of verifying.

        Raises the first error of any response.
        """
        self._verifier, self._end_token_ids = _verifier(task), frozenset(end_token_ids)
        self._summaries, self._errors, self._reward_seconds = {}, [], 0.0
        await self.generate_sequences(batch)
        await asyncio.gather(*self.background_tasks)
        if self._errors:
            raise self._errors[0]
        return self._summaries, self._reward_seconds

    async def _run_agent_loop(self, sampling_params: dict[str, Any], **row: Any) -> None:
        try:
            await super()._run_agent_loop(sampling_params, verifier=self._verifier, **row)
        except Exception as error:
            # verl only logs it.
            self._errors.append(error)
            raise

    async def _agent_loop_postprocess(self, output: AgentLoopOutput, validate: bool, **row: Any) -> None:
        row.pop("verifier")
        self._reward_seconds += output.metrics.compute_score
        key = f"{row['uid']}_{row['session_id']}_0"
        self._summaries[key] = ResponseSummary(
            prompt_length=len(output.prompt_ids),
            length=len(output.response_ids),
            ended=output.response_ids[-1] in self._end_token_ids,
            reward=int(output.reward_score),
            reward_failed=output.extra_fields.pop(REWARD_FAILED),
            logprob_sum=float(sum(output.response_logprobs)),
        )
        await super()._agent_loop_postprocess(output, validate, **row)


class BapoAgentLoopManager(AgentLoopManagerTQ):  # type: ignore[misc]
    """Spreads a batch over the agent loop workers and waits for it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.agent_loop_workers_class = ray.remote(BapoAgentLoopWorker)

    def roll_out(
        self, batch: Any, task: TaskSection, end_token_ids: Sequence[int]
    ) -> tuple[Mapping[str, ResponseSummary], float]:
        """Generate the whole batch into TransferQueue; return the summaries by row key, and seconds of verifying."""
        parts = batch.chunk(min(len(self.agent_loop_workers), len(batch)))
        answers = ray.get(
            [
                worker.roll_out.remote(part, task, end_token_ids)
                for worker, part in zip(self.agent_loop_workers, parts, strict=False)
            ]
        )
        # verl marks each prompt's state under its own key, which is never read again.
        tq.kv_clear(keys=list(batch["uid"]), partition_id=PARTITION)
        summaries = {key: summary for answer, _ in answers for key, summary in answer.items()}
        return summaries, sum(seconds for _, seconds in answers)


@cache
def _verifier(section: TaskSection) -> Verifier:
    """Build the verifier once in each agent loop worker: a function of a user's file cannot be sent to a process."""
    return verifier(section)
