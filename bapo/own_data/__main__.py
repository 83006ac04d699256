"""`python -m bapo.own_data`: the check in a separate process; it reads a job as JSON and writes the findings."""

from __future__ import annotations

import sys

from bapo.own_data.bounds import bound_process
from bapo.own_data.job import CheckJob, carry_out

if __name__ == "__main__":
    job = CheckJob.model_validate_json(sys.stdin.buffer.read())
    bound_process(job.most_bytes)
    sys.stdout.write(carry_out(job).model_dump_json())
