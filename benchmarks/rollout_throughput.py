"""Response tokens per second of the local engine's sampler and of the Hugging Face class's `generate`.

    python -m benchmarks.rollout_throughput [--sequences 32 128 512 1024] [--repetitions 5] [--model countdown-base]

Same model, prompts, G 8, temperature 1 without truncation, at most 16 new tokens, float32, one thread. Counted are the
tokens of the responses up to their end; `generate` also computes what follows in rows that have ended. The sampler
returns log-probabilities, which training needs, and `generate` does not. Both take turns in one process. Writes
docs/benchmarks/rollout_throughput.json and rollout_throughput.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from torch import Tensor

from bapo.engines.local.policy import LanguageModel, load_language_model
from bapo.engines.local.prompts import encode_task
from bapo.engines.local.sampling import sample
from bapo.tasks import build_task
from benchmarks.contestants import GROUP_SIZE, MAX_NEW_TOKENS, SEED, config_of
from benchmarks.report import table, write_report

SEQUENCES = (32, 64, 128, 256, 512, 1024)
OURS, THEIRS = "local engine", "Hugging Face generate"

Sampler = Callable[[Sequence[Sequence[int]], int], int]
"""Answers each prompt G times with draws of this seed; response tokens."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One call."""

    tokens_per_second: float
    tokens_per_cpu_second: float


def local_sampler(language_model: LanguageModel) -> Sampler:
    """Return the local engine's sampler."""

    def run(prompts: Sequence[Sequence[int]], seed: int) -> int:
        groups = sample(
            language_model.model,
            prompts,
            group_size=GROUP_SIZE,
            temperature=1.0,
            top_p=1.0,
            top_k=-1,
            max_new_tokens=MAX_NEW_TOKENS,
            eos_token_ids=language_model.eos_token_ids,
            generator=torch.Generator().manual_seed(seed),
        )
        return sum(sum(group.lengths) for group in groups)

    return run


def generate_sampler(language_model: LanguageModel) -> Sampler:
    """Return `generate` as a sampler, with prompts padded on the left as documented."""
    model: Any = language_model.model
    ends = torch.tensor(language_model.eos_token_ids)

    @torch.inference_mode()
    def run(prompts: Sequence[Sequence[int]], seed: int) -> int:
        torch.manual_seed(seed)
        tokens, mask = padded(prompts, pad=int(ends[0]))
        sequences = model.generate(
            input_ids=tokens,
            attention_mask=mask,
            num_return_sequences=GROUP_SIZE,
            max_new_tokens=MAX_NEW_TOKENS,
            do_sample=True,
            temperature=1.0,
            top_p=1.0,
            top_k=0,
            eos_token_id=ends.tolist(),
            pad_token_id=int(ends[0]),
        )
        has_ended = torch.isin(sequences[:, tokens.shape[1] :], ends).long().cumsum(1)
        # The end token counts, as it does in ours.
        return int((has_ended == 0).sum() + has_ended.any(1).sum())

    return run


def padded(prompts: Sequence[Sequence[int]], pad: int) -> tuple[Tensor, Tensor]:
    """Return tokens and mask [prompts, longest]."""
    longest = max(map(len, prompts))
    tokens = [[pad] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
    mask = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    return torch.tensor(tokens), torch.tensor(mask)


def measure(sampler: Sampler, prompts: Sequence[Sequence[int]], seed: int) -> Figure:
    """Measure one call of a sampler."""
    begin, cpu_begin = time.perf_counter(), time.process_time()
    num_tokens = sampler(prompts, seed)
    seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - cpu_begin
    return Figure(num_tokens / seconds, num_tokens / cpu_seconds)


def encoded_prompts(language_model: LanguageModel, model: str, count: int) -> list[Sequence[int]]:
    """Return the first training prompts of the task as token ids."""
    config = config_of(1, model, "cpu")
    task = build_task(config.task)
    encoded = encode_task(task, language_model.tokenizer, config.rollout, None)
    return [encoded[problem.prompt_id] for problem in task.train[:count]]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, nargs="+", default=SEQUENCES, help="responses per call")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--model", default="countdown-base")
    options = parser.parse_args()
    torch.set_num_threads(1)
    language_model = load_language_model(options.model, torch.device("cpu"))
    samplers = {OURS: local_sampler(language_model), THEIRS: generate_sampler(language_model)}
    all_prompts = encoded_prompts(language_model, options.model, max(options.sequences) // GROUP_SIZE)
    figures: dict[int, dict[str, list[Figure]]] = {}
    for num_sequences in options.sequences:
        prompts = all_prompts[: num_sequences // GROUP_SIZE]
        figures[num_sequences] = {name: [] for name in samplers}
        for sampler in samplers.values():
            sampler(prompts, SEED)
        for repetition in range(options.repetitions):
            for name, sampler in samplers.items():
                figures[num_sequences][name].append(measure(sampler, prompts, SEED + repetition))
    results = {
        "model": options.model,
        "repetitions": options.repetitions,
        "sequences": {
            str(number): {
                name: [{"wall": each.tokens_per_second, "cpu": each.tokens_per_cpu_second} for each in found]
                for name, found in by_name.items()
            }
            for number, by_name in figures.items()
        },
    }
    write_report(
        "rollout_throughput",
        f"Rollout throughput: {options.repetitions} interleaved calls, medians",
        results,
        f"{options.model}, G {GROUP_SIZE}, temperature 1, at most {MAX_NEW_TOKENS} new tokens, float32, one thread. "
        "Tokens of the responses up to their end; ours come with their log-probabilities.",
        markdown(figures),
    )


def markdown(figures: dict[int, dict[str, list[Figure]]]) -> str:
    """Return the table: medians over the repetitions."""
    heads = ["responses per call", f"{OURS}, tokens/s", f"{THEIRS}, tokens/s", "ratio", "ratio of CPU time"]
    rows = []
    for number, by_name in figures.items():
        ours, theirs = (median(each.tokens_per_second for each in by_name[name]) for name in (OURS, THEIRS))
        pairs = list(zip(by_name[OURS], by_name[THEIRS], strict=True))
        ratio = median(own.tokens_per_second / other.tokens_per_second for own, other in pairs)
        cpu = median(own.tokens_per_cpu_second / other.tokens_per_cpu_second for own, other in pairs)
        rows.append([f"{number:,}", f"{ours:,.0f}", f"{theirs:,.0f}", f"{ratio:.2f}", f"{cpu:.2f}"])
    return table(heads, rows)


if __name__ == "__main__":
    main()
