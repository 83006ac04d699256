"""`python -m backend.files.resources.inspection_process`: inspects a resource in a separate process, with limits."""

from __future__ import annotations

import sys

from backend.files.resources.inspection import Inspection, inspect
from bapo.own_data.bounds import bound_process

if __name__ == "__main__":
    job = Inspection.model_validate_json(sys.stdin.buffer.read())
    bound_process(most_bytes=0, maps_files=job.kind == "model")
    sys.stdout.write(inspect(job).model_dump_json())
