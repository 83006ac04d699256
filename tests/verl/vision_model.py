"""A tiny vision-language model, made on the spot: Qwen2.5-VL's architecture and the shipped model's tokenizer."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import (
    AutoTokenizer,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2VLImageProcessor,
)
from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor

from bapo.engines.local.policy import model_folder

PATCH, MERGED = 14, 2
SIDE = 2 * PATCH * MERGED
"""Pixels of the window of attention, and of an image: two tokens by two."""
_IMAGE_TOKENS = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>", "<|im_start|>")
_TEMPLATE = """{% for message in messages %}<|{{ message['role'] }}|>{% if message['content'] is string %}\
{{ message['content'] }}{% else %}{% for part in message['content'] %}{% if part['type'] == 'image' %}\
<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}\
<|im_end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"""


def make_vision_model(folder: Path) -> None:
    """Save model, tokenizer and processor: 2 layers of 128 over a vision tower of 2 layers of 64, drawn from a seed."""
    tokenizer = AutoTokenizer.from_pretrained(model_folder("countdown-base"), local_files_only=True)
    tokenizer.add_special_tokens({"additional_special_tokens": list(_IMAGE_TOKENS)})
    tokenizer.chat_template = _TEMPLATE
    vocabulary = tokenizer.get_vocab()
    vision_start, vision_end, image, video = (vocabulary[token] for token in _IMAGE_TOKENS[:4])
    config = Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": 128,
            "intermediate_size": 256,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 4,
            "max_position_embeddings": 512,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [4, 6, 6]},
            "bos_token_id": None,
            "eos_token_id": tokenizer.eos_token_id,
            "pad_token_id": tokenizer.pad_token_id,
            "tie_word_embeddings": False,
        },
        vision_config={
            "depth": 2,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_heads": 2,
            "out_hidden_size": 128,
            "patch_size": PATCH,
            "spatial_merge_size": MERGED,
            "window_size": SIDE,
            "fullatt_block_indexes": [1],
        },
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=vision_start,
        vision_end_token_id=vision_end,
        tie_word_embeddings=False,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Qwen2_5_VLForConditionalGeneration(config)
    model.save_pretrained(folder)
    pixels = {"patch_size": PATCH, "merge_size": MERGED, "min_pixels": SIDE**2, "max_pixels": SIDE**2}
    Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(**pixels),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(**pixels),
        chat_template=_TEMPLATE,
    ).save_pretrained(folder)
