"""A run that really trains: what a rule sees in it reaches a receiver; stopping it at once leaves no process behind."""

from __future__ import annotations

import pytest

from bapo.api.alerts import MetricCondition, RuleScope, RuleWrite
from bapo.api.runs import RunFork, RunUpdate
from bapo.api.webhooks import WebhookWrite
from tests.support.receiver import documented, receiving
from tests.support.stack import Stack, all_records, at_step, ended, essence, submit, wait_for

pytestmark = pytest.mark.e2e

LONG = 5_000
"""Steps that nobody waits for."""


def test_a_rule_tells_a_receiver_and_a_stop_at_once_leaves_a_checkpoint_to_go_on_from(stack: Stack) -> None:
    with stack.client() as client, receiving() as receiver:
        events = ["alert.opened", "run.cancelled"]
        hook = client.create_webhook(WebhookWrite.model_validate({"name": "t", "url": receiver.url, "events": events}))
        condition = MetricCondition(key="response_length/mean", comparison=">", threshold=0, steps=3)
        rule = client.create_alert_rule(RuleWrite(name="it writes", condition=condition, scope=RuleScope(tag="e2e")))
        run_id = submit(client, "stopped at once", **{"training.steps": LONG})
        other = submit(client, "not watched", **{"training.steps": 10})
        client.update_run(run_id, RunUpdate(tags=["e2e"]))

        # Rule, alert, message: of the run that the rule is about, and of no other.
        (message,) = wait_for(lambda: receiver.of("alert.opened"))
        genuine = documented().is_genuine
        assert genuine(hook.secret, message.headers, message.content)
        assert not genuine(hook.secret, message.headers, message.content + b" ")
        (alert,) = client.run_alerts(run_id).items
        assert (message.body["run"]["id"], message.body["alert"]["id"]) == (run_id, alert.id)
        assert (alert.rule, alert.step >= 3) == (rule.name, True)

        # One checkpoint, and some steps after it that no checkpoint holds.
        at_step(client, run_id, 10)
        trainer = stack.trainer(run_id)
        stopping = client.stop(run_id, "now")
        assert stopping.status == "stopping"
        run = ended(client, run_id)
        assert (run.status, run.attempt) == ("cancelled", 1)
        wait_for(lambda: not trainer.is_running())
        wait_for(lambda: not [each for each in stack.processes() if run_id in " ".join(each.cmdline())])
        wait_for(lambda: all(worker.busy == 0 for worker in client.queue().workers) or client.run(other).step)
        (cancelled,) = wait_for(lambda: receiver.of("run.cancelled"))
        assert genuine(hook.secret, cancelled.headers, cancelled.content)

        # What it held goes on, as it would have.
        newest = client.checkpoints(run_id).items[0].step
        assert 8 <= newest <= run.step
        lost = [record for record in all_records(client, run_id, "step") if record["step"] > newest]
        assert ended(client, other).status == "succeeded"
        fork = client.fork(run_id, RunFork(step=newest, name="goes on"))
        at_step(client, fork.id, newest + max(2, len(lost)))
        client.stop(fork.id, "step")
        assert ended(client, fork.id).status == "cancelled"
        again = [record for record in all_records(client, fork.id, "step") if record["step"] > newest]
        assert essence(again[: len(lost)]) == essence(lost)
        assert client.run_alerts(other).items == []
