"""The first prompts of a config, made in a separate process with the limits of uploads: its data may be malicious."""

from __future__ import annotations

import threading
from importlib.util import find_spec

from backend.kit.errors import Problem
from bapo.api.configs import PreviewedPrompt, PromptPreviewPage, PromptTurn
from bapo.config import RunConfig
from bapo.isolation.function import CallFailedError, IsolatedFunction
from bapo.isolation.limits import Limits
from bapo.own_data.job import MEMORY_BYTES
from bapo.own_data.storable import storable
from bapo.run.prompt_preview import is_model_here, previews_of

CPU_SECONDS = 60
PREVIEW_SECONDS = 300.0
"""Time limit of a process that gets hardly any of a busy machine; most are made in a few seconds."""
NUM_PREVIEWED = 1
"""Problems of each data source."""
TURN_SECONDS = 5.0
"""Time that a request waits for another preview before it is refused."""

_TURN = threading.BoundedSemaphore(1)


def preview(config: RunConfig) -> PromptPreviewPage:
    """Return the first training problem of each data source. Raises Problem 422 where there is none, 503 when busy."""
    if not _TURN.acquire(timeout=TURN_SECONDS):
        raise Problem(503, "busy", "another preview is being made: try again in a moment", headers={"Retry-After": "5"})
    # A server without the packages of trainers leaves templates to its workers.
    with_model = find_spec("transformers") is not None and is_model_here(config.model.path)
    limits = Limits(MEMORY_BYTES, CPU_SECONDS, maps_files=True)
    try:
        with IsolatedFunction(previews_of, limits, seconds=PREVIEW_SECONDS) as make:
            found = make(config.model_dump(mode="json"), NUM_PREVIEWED, with_model)
    except CallFailedError as error:
        remedy = f"its prompts cannot be shown: {storable(str(error))}"
        raise Problem(422, "no_preview", remedy, field="task.type", value=config.task.type) from None
    finally:
        _TURN.release()
    items = [
        PreviewedPrompt(
            prompt_id=each.prompt_id,
            data_source=each.data_source,
            messages=[PromptTurn(role=turn.role, content=turn.content) for turn in each.messages],
            prompt=each.prompt,
            num_tokens=each.num_tokens,
            answer=dict(each.answer),
            solution=each.solution,
        )
        for each in found.items
    ]
    template = "unknown" if found.has_template is None else "applied" if found.has_template else "none"
    return PromptPreviewPage(items=items, template=template)
