#!/bin/sh
# Renews requirements-verl-gpu.lock, in about half a minute: sh scripts/lock_verl_gpu.sh   (needs uv: pip install uv)
# A resolver that looks ahead, because pip's goes through every release of kombu and packaging and does not end.
set -eu
cd "$(dirname -- "$0")/.."
command -v uv >/dev/null 2>&1 || { echo "bapo: uv is needed and was not found: pip install uv" >&2; exit 1; }
{
    echo "# The exact versions of the verl engine with GPUs, with a worker: sh scripts/setup_verl.sh --gpu, docker/gpu.Dockerfile."
    echo "# Written by scripts/lock_verl_gpu.sh; they resolve together, and no test has run them, for want of a GPU."
    uv pip compile pyproject.toml --extra verl --extra worker --universal --fork-strategy fewest --python-version 3.11 \
        --no-annotate --no-header --quiet "$@"
} >requirements-verl-gpu.lock.new
mv requirements-verl-gpu.lock.new requirements-verl-gpu.lock
