"""The charts of the critic, for methods that have one."""

from __future__ import annotations

from bapo.figures.metric_charts import VALUES
from frontend.pages.run.charts.base import metric_chart, of_tab, recorded_chart

CHARTS = of_tab(
    "overview",
    recorded_chart("explained-variance", "critic/vf_explained_var"),
    metric_chart(
        "values",
        VALUES,
        "Critic: values and returns",
        "Mean over the batch's tokens: what the critic expected before the update, and the returns that it is trained "
        "towards. The advantage of a token is the difference.",
        only="has_critic",
        height=220,
    ),
    recorded_chart("value-loss", "critic/vf_loss"),
    recorded_chart("value-clipped", "critic/vf_clipfrac"),
    recorded_chart("critic-grad-norm", "critic/grad_norm"),
)
