"""The charts of the critic, for methods that have one."""

from __future__ import annotations

from bapo.figures.metric_charts import VALUES
from frontend.pages.run.charts.base import metric_chart, of_tab, scalar_chart

CHARTS = of_tab(
    "overview",
    scalar_chart(
        "explained-variance",
        "critic/vf_explained_var",
        "Critic: explained variance",
        "Share of the variance of the returns that the values predicted before the update: 1 is all, 0 is what one "
        "number for all tokens would do, below 0 is worse. There is a gap where all returns were equal.",
        "share of variance",
        from_zero=False,
        only="has_critic",
    ),
    metric_chart(
        "values",
        VALUES,
        "Critic: values and returns",
        "Mean over the batch's tokens: what the critic expected before the update, and the returns that it is trained "
        "towards. The advantage of a token is the difference.",
        only="has_critic",
        height=220,
    ),
    scalar_chart(
        "value-loss",
        "critic/vf_loss",
        "Critic: value loss",
        "Half the mean squared error of the values, with values held near the old ones; mean over the mini-batches.",
        "loss",
        only="has_critic",
    ),
    scalar_chart(
        "value-clipped",
        "critic/vf_clipfrac",
        "Critic: clipped values",
        "Share of tokens whose value had moved further than method.critic.value_clip within the step, so that they "
        "gave no gradient. With one pass and one mini-batch it is 0.",
        "share of tokens",
        only="has_critic",
    ),
    scalar_chart(
        "critic-grad-norm",
        "critic/grad_norm",
        "Critic: gradient norm",
        "Norm of the critic's gradient before it is scaled down to training.max_grad_norm.",
        "norm",
        only="has_critic",
    ),
)
