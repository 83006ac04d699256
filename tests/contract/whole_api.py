"""Generated requests to every operation, one after the other along the links of the description.

    python -m tests.contract.whole_api --url http://127.0.0.1:8000 --token-file … --worker-token-file … [--examples 500]

The server may refuse whatever it likes, but it must not fail.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import schemathesis
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.errors import FlakyStrategyDefinition
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.core.transport import Response

STEPS = 8
"""Requests in a row, of which each may use what the one before answered."""
TIMEOUT_SECONDS = 30.0


def explore(
    url: str, description: dict[str, Any], headers: Mapping[str, Mapping[str, str]], examples: int
) -> Counter[str]:
    """Make chains of requests; how many had which status.

    `headers` holds the credentials by permission, "" for every other. Raises what Schemathesis raises where an answer
    has a status of 500 or more.
    """
    # Streams do not end, and a worker's request waits; a logout ends the session of all that follows.
    schema = schemathesis.openapi.from_dict(description).exclude(path_regex="/events$|/workers/deliveries$|/auth/")
    schema.config.update(base_url=url)
    statuses: Counter[str] = Counter()
    machine = schema.as_state_machine()

    class Chain(machine):  # type: ignore[misc, valid-type]
        def get_call_kwargs(self, case: Case[Any]) -> dict[str, Any]:
            permission = case.operation.definition.raw.get("x-permission", "")
            return {"headers": dict(headers.get(permission, headers[""])), "timeout": TIMEOUT_SECONDS}

        def validate_response(self, response: Response, case: Case[Any], **_: Any) -> None:
            statuses[str(response.status_code)] += 1
            case.validate_response(response, checks=[not_a_server_error])

    few = settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
        database=None,
    )
    number = 0
    while statuses.total() < examples * STEPS // 2:
        number += 1
        try:
            seed(number)(Chain).run(settings=few)
        except FlakyStrategyDefinition:
            # What was possible after the same requests once is not again: the server remembers the first time.
            continue
    return statuses


def bearer(token: str) -> dict[str, str]:
    """Headers of a token's owner."""
    return {"Authorization": f"Bearer {token}"}


def main() -> None:
    """Explore a server for as long as wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--token-file", type=Path, required=True)
    parser.add_argument("--worker-token-file", type=Path, required=True)
    parser.add_argument("--examples", type=int, default=500)
    options = parser.parse_args()
    person, worker = (bearer(path.read_text().strip()) for path in (options.token_file, options.worker_token_file))
    description = httpx.get(f"{options.url}/api/v1/openapi.json", headers=person, timeout=60).raise_for_status().json()
    print(explore(options.url, description, {"": person, "work": worker}, options.examples))


if __name__ == "__main__":
    main()
