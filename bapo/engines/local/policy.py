"""The model in training: weights, tokenizer and how a prompt becomes tokens, from a Hugging Face folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from jinja2 import TemplateError
from safetensors import SafetensorError, safe_open
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from transformers.utils.logging import disable_progress_bar

from bapo.config import ConfigError, ConfigProblem
from bapo.config.model_catalogue import CATALOGUE
from bapo.config.model_files import lfs_pointer, outside_file
from bapo.config.paths import SHIPPED_MODELS, shipped_models
from bapo.engines.local.attention import use_grouped_attention
from bapo.engines.local.cache import has_attention_only
from bapo.pretrained import PretrainedError
from bapo.pretrained.folders import fetch, folder_of
from bapo.tasks.base import Problem


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A causal language model with its tokenizer."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    eos_token_ids: tuple[int, ...]
    """Tokens that end a response."""


def model_folder(path: str) -> Path:
    """Return the folder that `model.path` names: a folder, a model shipped with the library, or a pretrained one.

    A model of the catalogue that is not on this machine yet is fetched. Raises ConfigError where it cannot be, where
    there is no such model, where its files name others outside, or where one is a Git LFS pointer.
    """
    shipped = shipped_models()
    # A server permits these names: what lies in the trainer's working directory must not take their place.
    folder = SHIPPED_MODELS / path if path in shipped else _pretrained(path) or Path(path).expanduser()
    if (folder / "config.json").is_file():
        if (remedy := outside_file(folder) or lfs_pointer(folder)) is not None:
            raise _problem(path, remedy)
        return folder.resolve()
    found = "holds no config.json" if Path(path).expanduser().is_dir() else "does not exist"
    raise _problem(
        path,
        f"this model folder {found}: give a folder in Hugging Face format (config.json, safetensors, tokenizer), "
        f"or the name of a shipped model ({', '.join(shipped) or 'none here'}) or of one that `bapo model get` fetches",
    )


def _pretrained(path: str) -> Path | None:
    """Return the folder of a pretrained model; None where the path names none that is here or in the catalogue."""
    model = CATALOGUE.get(path)
    if model is None:
        return None if Path(path).expanduser().exists() else folder_of(path)
    folder = folder_of(path)
    if folder is not None:
        return folder
    print(f"fetching {model.title}, {model.num_bytes:,} bytes, licence {model.licence}", file=sys.stderr)
    try:
        return fetch(path)[1]
    except PretrainedError as error:
        raise _problem(path, str(error)) from None


def load_language_model(path: str, device: torch.device) -> LanguageModel:
    """Load weights (float32) and tokenizer.

    float32 because bf16 log-probabilities are off by 4e-3 (ρ up to 1.05 on policy), and because small learning rates
    vanish in bf16 weights. Raises ConfigError (field `model.path`) where the folder is missing, is no causal language
    model, lacks weights, has some that are NaN or infinite, or has a tokenizer that does not fit the model's
    vocabulary.
    """
    folder = model_folder(path)
    config = _causal_config(path, folder)
    # It would fill the trainer's log.
    disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder, config=config, dtype=torch.float32, local_files_only=True, output_loading_info=True
        )
    except Exception as error:
        # What a foreign file makes a foreign library raise is of any kind: SafetensorError is an Exception and no more.
        # A pickle that is more than numbers is refused by PyTorch, before anything in it runs.
        raise _problem(path, _unloadable(folder, error)) from error
    model: PreTrainedModel
    model, report = loaded
    if report["missing_keys"] or report["mismatched_keys"]:
        missing = sorted(report["missing_keys"]) or sorted(key for key, *_ in report["mismatched_keys"])
        raise _problem(
            path, f"weights are missing or of the wrong shape, {missing[0]!r} first: save the complete model again"
        )
    _check_weights(path, model)
    tokenizer = load_tokenizer(path)
    _check_vocabulary(path, model, tokenizer)
    if not has_attention_only(model):
        raise _problem(path, f"model type {config.model_type!r} has layers without keys and values: not supported")
    # Loaded weights may lie at odd addresses of a mapped file. How a product is rounded depends on that, so that a copy
    # of the model would give other last digits, and a resumed run differ from an undisturbed one.
    for parameter in model.parameters():
        parameter.data = parameter.data.clone()
    use_grouped_attention(model)
    # Dropout would make π_θ differ from the policy that generated; nothing else depends on the mode.
    model.train(False).to(device)
    return LanguageModel(model, tokenizer, _eos_token_ids(path, model, tokenizer))


def load_tokenizer(path: str) -> PreTrainedTokenizerBase:
    """Return the tokenizer in a model folder. Raises ConfigError where there is none."""
    folder = model_folder(path)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:
        # As above.
        raise _problem(path, f"no tokenizer can be loaded ({_first_line(error)}): save it in the folder") from error
    # Without its files, a tokenizer class named by config.json may load with an empty vocabulary.
    if not any((folder / name).is_file() for name in tokenizer.vocab_files_names.values()):
        raise _problem(path, "no tokenizer can be loaded (its files are missing): save it in the folder")
    return tokenizer


def encode_problems(tokenizer: PreTrainedTokenizerBase, problems: Sequence[Problem]) -> list[list[int]]:
    """Return token ids of the problems' prompts, as `templated` writes them."""
    if not problems:
        return []
    # A template writes the special tokens itself.
    encoded = tokenizer(templated(tokenizer, problems), add_special_tokens=not tokenizer.chat_template)
    return cast(list[list[int]], encoded["input_ids"])


def templated(tokenizer: PreTrainedTokenizerBase, problems: Sequence[Problem]) -> list[str]:
    """Return the prompts in the model's chat template if it has one, else as plain text.

    Raises ConfigError (field `model.path`) where the template rejects a prompt's messages.
    """
    if not tokenizer.chat_template:
        return [problem.prompt for problem in problems]
    chats = [[turn._asdict() for turn in problem.messages] for problem in problems]
    try:
        return cast(list[str], tokenizer.apply_chat_template(chats, tokenize=False, add_generation_prompt=True))
    except TemplateError as error:
        roles = ", ".join(dict.fromkeys(turn.role for problem in problems for turn in problem.messages))
        remedy = f"its chat template rejects the prompts' messages ({roles}): {error}; leave out what it does not know"
        raise _problem(tokenizer.name_or_path, remedy) from None


def _causal_config(path: str, folder: Path) -> Any:
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
    except Exception as error:
        # As above.
        raise _problem(path, f"config.json is not a known model's ({_first_line(error)})") from error
    causal_class = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(config.model_type)
    named = (config.architectures or [causal_class])[0]
    if causal_class is None or named != causal_class:
        raise _problem(
            path,
            f"{named or config.model_type} is not a causal language model: give a folder whose config.json names one, "
            "such as Qwen2ForCausalLM",
        )
    return config


def _unloadable(folder: Path, error: Exception) -> str:
    """Return why weights cannot be loaded; names the file of safetensors that is cut off or damaged."""
    for file in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(file, framework="pt"):
                continue
        except (SafetensorError, OSError) as damage:
            return f"{file.name} is cut off or damaged ({_first_line(damage)}): download it again, and compare its size"
    return f"the weights cannot be loaded ({_first_line(error)}): check the folder"


def _check_weights(path: str, model: PreTrainedModel) -> None:
    """Raise ConfigError where a weight is NaN or infinite: each response would be noise, and its reward 0."""
    for name, parameter in model.named_parameters():
        is_finite = torch.isfinite(parameter)
        if not is_finite.all():
            num_bad = is_finite.numel() - int(is_finite.sum())
            remedy = (
                f"{num_bad:,} of {is_finite.numel():,} weights of {name!r} are NaN or infinite: save the model again "
                "from a checkpoint before it diverged, or download it again"
            )
            raise _problem(path, remedy)


def _check_vocabulary(path: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    # A model's vocabulary may be padded to a round number, so that only a tokenizer above it is wrong.
    vocabulary = cast(torch.nn.Embedding, model.get_input_embeddings()).num_embeddings
    if len(tokenizer) > vocabulary:
        raise _problem(
            path,
            f"the tokenizer has {len(tokenizer)} tokens but the model's vocabulary only {vocabulary}: "
            "use the tokenizer that the model was trained with",
        )


def _eos_token_ids(path: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    configured = model.generation_config.eos_token_id if model.generation_config else None
    found = [tokenizer.eos_token_id, *(configured if isinstance(configured, list) else [configured])]
    ids = tuple(sorted({token for token in found if token is not None}))
    if not ids:
        raise _problem(path, "neither tokenizer nor generation config names an end token: set eos_token")
    return ids


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


def _problem(path: str, remedy: str) -> ConfigError:
    return ConfigError([ConfigProblem("model.path", path, remedy)])
