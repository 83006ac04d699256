"""`python -m backend.files.uploads.model_process`: unpacks and checks a model in a separate process, with limits."""

from __future__ import annotations

import sys

from backend.files.uploads.models import ModelJob, unpack_model
from bapo.own_data.bounds import bound_process

if __name__ == "__main__":
    job = ModelJob.model_validate_json(sys.stdin.buffer.read())
    bound_process(job.most_bytes, maps_files=True)
    sys.stdout.write(unpack_model(job).model_dump_json())
