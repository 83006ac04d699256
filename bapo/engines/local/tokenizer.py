"""The shipped model's tokenizer: bytes, with one token per number up to 99 and one per chat role."""

from __future__ import annotations

from tokenizers import AddedToken
from tokenizers.pre_tokenizers import ByteLevel
from transformers import Qwen2Tokenizer

END_OF_TURN = "<|im_end|>"
_PADDING = "<|endoftext|>"
_ROLES = ("<|system|>", "<|user|>", "<|assistant|>")
_CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def countdown_tokenizer() -> Qwen2Tokenizer:
    """Return a byte-level tokenizer of 351 tokens that reads `12` as one token and costs three tokens per prompt.

    Its length is the vocabulary size of the model, as engines that do not mask unused logits require. The class is
    the one that loaders choose for a Qwen2 model, so a saved tokenizer loads with identical ids everywhere.
    """
    vocabulary = {symbol: index for index, symbol in enumerate(sorted(ByteLevel.alphabet()))}
    # Qwen2's pre-tokenizer splits between digits, so no merge can join them: two digits are added tokens.
    numbers = [str(number) for number in range(10, 100)]
    vocabulary |= {number: len(vocabulary) + index for index, number in enumerate(numbers)}
    tokenizer = Qwen2Tokenizer(
        vocab=vocabulary,
        merges=[],
        unk_token=_PADDING,
        eos_token=END_OF_TURN,
        pad_token=_PADDING,
        extra_special_tokens=list(_ROLES),
    )
    tokenizer.add_tokens([AddedToken(number, special=False, normalized=False) for number in numbers])
    tokenizer.chat_template = _CHAT_TEMPLATE
    tokenizer.model_max_length = 512
    return tokenizer
