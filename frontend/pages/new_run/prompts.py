"""The card with the first prompts of the config, as its model gets them."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
from dash import Dash, State, html

from bapo.api.configs import PreviewedPrompt, PromptPreviewPage
from frontend.components.actions import in_place, show, when_pressed
from frontend.components.card import card
from frontend.components.config_form.inputs import FILLED, Filled, draft_of
from frontend.request.session import Api

_NOTES = {
    "applied": "The first training problem of each data source, in the chat template of the model.",
    "none": "The first training problem of each data source. The model has no chat template and gets plain text.",
    "unknown": "The first training problem of each data source, as messages: this server does not have the model. The "
    "trainer applies the model's chat template.",
}


def prompts_card() -> html.Section:
    """Return the card, which makes the prompts when asked: that takes seconds."""
    button = dmc.Button("Show", id="new-prompts-show", variant="default", size="xs")
    return card(html.Div(id="new-prompts", className="prompt-previews"), button, title="Prompts as the model gets them")


def previews(page: PromptPreviewPage) -> list[Any]:
    """Return the prompts with their right answers and worked solutions."""
    return [dmc.Text(_NOTES[page.template], size="xs", c="dimmed"), *map(_preview, page.items)]


def _preview(each: PreviewedPrompt) -> html.Div:
    length = "" if each.num_tokens is None else f" · {each.num_tokens:,} tokens"
    said = each.prompt if each.prompt is not None else "\n\n".join(f"{t.role}: {t.content}" for t in each.messages)
    answer = ", ".join(f"{name} = {value}" for name, value in each.answer.items() if not isinstance(value, dict))
    facts = [("Answer", answer), ("Worked solution", each.solution)]
    return html.Div(
        [
            html.Div(f"{each.data_source}{length}", className="fact-label"),
            html.Pre(said, className="prompt-preview"),
            *(
                html.Details([html.Summary(label), html.Pre(text, className="prompt-preview")])
                for label, text in facts
                if text
            ),
        ]
    )


def register(app: Dash, api: Api) -> None:
    """Register the button."""

    @when_pressed(
        app,
        "new-prompts-show",
        states=[State("new-project", "value"), *FILLED],
        on_error=in_place("new-prompts"),
        busy="new-prompts-show",
    )
    async def make(_: Any, project: str | None, *form: Any) -> None:
        filled = await Filled.read(api, *form)
        draft = draft_of(filled.start, filled.changes()[1], project)
        show("new-prompts", previews(await api.client().preview_prompts(draft)))
