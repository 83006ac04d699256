"""Response tokens per second of the local engine's sampler and of the Hugging Face class's `generate`.

    python -m benchmarks.rollout_throughput [--sequences 32 128 512 1024] [--repetitions 5]
    python -m benchmarks.rollout_throughput --model FOLDER --sequences 512 --max-new-tokens 256 --threads 2 --bfloat16

Same model, prompts, G 8, temperature 1 without truncation, float32, on the CPU. Counted are the tokens of the responses
up to their end; `generate` also computes what follows in rows that have ended. The sampler returns log-probabilities,
which training needs, and `generate` does not; the bare loop of `benchmarks.trainer_vs_trl` calls `generate` too. All
take turns in one process. Writes rollout_throughput.json and .md in docs/benchmarks/, for a model of your own with the
name of its folder.
"""

from __future__ import annotations

import argparse
import copy
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import torch
from torch import Tensor

from bapo.engines.local.policy import LanguageModel, load_language_model, model_folder
from bapo.engines.local.prompts import encode_task
from bapo.engines.local.sampling import sample
from bapo.tasks import build_task
from benchmarks.contestants import GROUP_SIZE, MAX_NEW_TOKENS, SEED, config_of
from benchmarks.report import table, write_report

SHIPPED_MODEL = "countdown-base"
SEQUENCES = (32, 64, 128, 256, 512, 1024)
OURS, ROUNDED, THEIRS = "local engine", "local engine, bfloat16 weights", "Hugging Face generate"

Sampler = Callable[[Sequence[Sequence[int]], int], int]
"""Answers each prompt G times with draws of this seed; response tokens."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One call."""

    tokens_per_second: float
    tokens_per_cpu_second: float
    peak_memory_gb: float
    """Peak of the process so far."""


def local_sampler(language_model: LanguageModel, max_new_tokens: int) -> Sampler:
    """Return the local engine's sampler."""

    def run(prompts: Sequence[Sequence[int]], seed: int) -> int:
        groups = sample(
            language_model.model,
            prompts,
            group_size=GROUP_SIZE,
            temperature=1.0,
            top_p=1.0,
            top_k=-1,
            max_new_tokens=max_new_tokens,
            eos_token_ids=language_model.eos_token_ids,
            generator=torch.Generator().manual_seed(seed),
        )
        return sum(sum(group.lengths) for group in groups)

    return run


def generate_sampler(language_model: LanguageModel, max_new_tokens: int) -> Sampler:
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
            max_new_tokens=max_new_tokens,
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
    peak_memory_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return Figure(num_tokens / seconds, num_tokens / cpu_seconds, peak_memory_gb)


def encoded_prompts(language_model: LanguageModel, model: str, count: int) -> list[Sequence[int]]:
    """Return the first training prompts of the task as token ids."""
    config = config_of(1, model, "cpu")
    task = build_task(config.task)
    encoded = encode_task(task, language_model.tokenizer, config.rollout, None)
    return [encoded[problem.prompt_id] for problem in task.train[:count]]


def samplers_of(language_model: LanguageModel, max_new_tokens: int, *, is_rounded_too: bool) -> dict[str, Sampler]:
    """Return what is compared, by name."""
    samplers = {OURS: local_sampler(language_model, max_new_tokens)}
    if is_rounded_too:
        rounded = replace(language_model, model=copy.deepcopy(language_model.model).bfloat16())
        samplers[ROUNDED] = local_sampler(rounded, max_new_tokens)
    return {**samplers, THEIRS: generate_sampler(language_model, max_new_tokens)}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, nargs="+", default=SEQUENCES, help="responses per call")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--model", default=SHIPPED_MODEL)
    parser.add_argument("--max-new-tokens", type=int, default=MAX_NEW_TOKENS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bfloat16", action="store_true", help="also with bfloat16 weights, as engine.rollout_weights")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    language_model = load_language_model(options.model, torch.device("cpu"))
    samplers = samplers_of(language_model, options.max_new_tokens, is_rounded_too=options.bfloat16)
    all_prompts = encoded_prompts(language_model, options.model, max(options.sequences) // GROUP_SIZE)
    for sampler in samplers.values():
        sampler(all_prompts[:1], SEED)
    figures: dict[int, dict[str, list[Figure]]] = {}
    for num_sequences in options.sequences:
        prompts = all_prompts[: num_sequences // GROUP_SIZE]
        figures[num_sequences] = {name: [] for name in samplers}
        for repetition in range(options.repetitions):
            for name, sampler in samplers.items():
                figures[num_sequences][name].append(measure(sampler, prompts, SEED + repetition))
    # Those after the first call include what the others took.
    peak_memory_gb = figures[options.sequences[0]][OURS][0].peak_memory_gb
    results = {
        "model": options.model,
        "repetitions": options.repetitions,
        "max_new_tokens": options.max_new_tokens,
        "threads": options.threads,
        "peak_memory_gb": peak_memory_gb,
        "sequences": {
            str(number): {
                name: [{"wall": each.tokens_per_second, "cpu": each.tokens_per_cpu_second} for each in found]
                for name, found in by_name.items()
            }
            for number, by_name in figures.items()
        },
    }
    folder = model_folder(options.model)
    suffix = "" if options.model == SHIPPED_MODEL else f"_{folder.name}"
    write_report(
        f"rollout_throughput{suffix}",
        f"Rollout throughput: {options.repetitions} interleaved calls, medians",
        results,
        f"{folder.name}, G {GROUP_SIZE}, temperature 1, at most {options.max_new_tokens} new tokens, float32, "
        f"{options.threads} thread(s). Tokens of the responses up to their end; ours come with log-probabilities. "
        f"Peak memory of the process after the local engine's first call: {peak_memory_gb:.1f} GB.",
        markdown(figures),
    )


def markdown(figures: Mapping[int, Mapping[str, Sequence[Figure]]]) -> str:
    """Return the table: medians over the repetitions, each sampler of ours with its ratio to `generate`."""
    names = list(next(iter(figures.values())))
    heads = ["responses per call", *(f"{name}, tokens/s" for name in names)]
    for name in names[:-1]:
        heads += [f"ratio, {name}", f"ratio of CPU time, {name}"]
    rows = []
    for number, by_name in figures.items():
        row = [f"{number:,}", *(f"{median(each.tokens_per_second for each in by_name[name]):,.0f}" for name in names)]
        for name in names[:-1]:
            pairs = list(zip(by_name[name], by_name[THEIRS], strict=True))
            ratio = median(own.tokens_per_second / other.tokens_per_second for own, other in pairs)
            cpu = median(own.tokens_per_cpu_second / other.tokens_per_cpu_second for own, other in pairs)
            row += [f"{ratio:.2f}", f"{cpu:.2f}"]
        rows.append(row)
    return table(heads, rows)


if __name__ == "__main__":
    main()
