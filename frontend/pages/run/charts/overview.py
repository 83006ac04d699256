"""The charts of the tab Overview: whether the policy learns."""

from __future__ import annotations

from bapo.figures import evaluations, rollouts
from bapo.figures.metric_charts import OBSERVED_LOGPROB_GAP, REWARDS, VALUES
from frontend.pages.run.charts.base import Chart, metric_chart, of_tab, recorded_chart

CHARTS = of_tab(
    "overview",
    metric_chart(
        "rewards",
        REWARDS,
        "Training reward",
        "Share of correct responses among the fresh rollouts of each step. The dotted line is the training batch, "
        "which filtering keeps near the middle: it does not show how good the policy is.",
        smoothing="always",
        question="Is it learning?",
    ),
    Chart(
        "evaluations",
        "Test accuracy",
        "Accuracy on held-out problems, averaged over k samples each (avg@k) with its 95 % interval; dotted: at least "
        "one of k correct (pass@k); dashed: the base model.",
        lambda data, palette: evaluations.evaluations_figure(
            evaluations.evaluations_data(data.evaluations, data.axis), palette
        ),
        needs=frozenset({"evaluations"}),
        live="recorded",
        empty="The first evaluation is not finished yet.",
        question="Does it generalise?",
    ),
    recorded_chart("entropy", "actor/entropy"),
    Chart(
        "lengths",
        "Response length",
        "Tokens of the fresh responses, mean and longest, and the share that was cut off at the token limit; those "
        "count as wrong.",
        lambda data, palette: rollouts.lengths_figure(rollouts.lengths_data(data.series, palette), data.axis, palette),
        rollouts.LENGTH_KEYS,
        height=220,
        question="How long are the responses, and how many are cut off?",
    ),
    recorded_chart("grad-norm", "actor/grad_norm"),
    recorded_chart("kl", "actor/ppo_kl"),
    metric_chart(
        "observed-logprob-gap",
        OBSERVED_LOGPROB_GAP,
        "Log-probability gap, rollout vs trainer",
        "How far probabilities when generating are from those of the same tokens when training, as the trainer logs "
        "it: TRL compares log-probabilities, verl probabilities. Numerical error, unless the trainer generates ahead "
        "of its updates: then staleness is in it as well.",
        live="rebuild",
        height=220,
        only_recorded=True,
        question="How much of the ratios is numerical error?",
    ),
    # Of methods that have a critic.
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
