"""What metrics are called where people choose them freely: title, unit, question; an unknown one goes by its key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from bapo.analysis.number_format import are_shares

AVERAGE = re.compile(r"val-core/(?P<dataset>.+)/acc/(?P<figure>mean@(?P<k>\d+)|greedy|pass@\d+)")


class MetricName(NamedTuple):
    """The title, unit and question of a metric."""

    title: str
    unit: str
    question: str = ""
    is_share: bool = False
    """Drawn in percent."""
    is_mean_reward: bool = False
    """Drawn in percent only where all of its values are shares of right responses."""

    def drawn_for(self, values: Iterable[float | None]) -> MetricName:
        """Returns how these values are drawn."""
        return self._replace(is_share=False) if self.is_mean_reward and not are_shares(values) else self


_KNOWN: Mapping[str, MetricName] = {
    "critic/rewards/mean": MetricName(
        "Training reward", "mean reward of fresh responses", "Is it learning?", is_share=True, is_mean_reward=True
    ),
    "actor/entropy": MetricName("Policy entropy", "entropy (nats per token)", "Does it still explore?"),
    "response_length/mean": MetricName("Response length", "tokens"),
    "actor/grad_norm": MetricName("Gradient norm", "gradient norm"),
    "actor/ppo_kl": MetricName("KL to the behaviour policy", "KL (nats per token)", "How far does the policy move?"),
    "actor/kl_loss": MetricName(
        "KL to the reference policy", "KL (nats per token)", "How far is it from where it began?"
    ),
    "actor/pg_clipfrac": MetricName("Clipped tokens", "share of tokens", is_share=True),
    "critic/vf_explained_var": MetricName("Critic: explained variance", "explained variance"),
    "critic/vf_loss": MetricName("Critic: value loss", "value loss"),
    "bapo/batch/fill_rate": MetricName("Fill rate", "share of B", "Are the batches full?", is_share=True),
    "bapo/cost/num_rollouts": MetricName("Rollouts", "responses", "What has training cost?"),
    "bapo/tracking/accuracy": MetricName("Accuracy of tracked prompts", "accuracy", "Do they improve?", is_share=True),
    "timing_s/step": MetricName("Time per step", "seconds"),
}


def metric_of(key: str) -> MetricName:
    """Returns title, unit and question; an unknown metric is called by its key."""
    if (match := AVERAGE.fullmatch(key)) is not None:
        figure = f"avg@{match['k']}" if match["k"] else match["figure"]
        return MetricName(
            f"{match['dataset']} {figure}", f"{match['dataset']} {figure}", "Does it generalise?", is_share=True
        )
    return _KNOWN.get(key, MetricName(key, key.rsplit("/", 1)[-1]))
