#!/bin/sh
# Makes .venv-verl, in which the verl engine runs without a GPU: sh scripts/setup_verl.sh
# The same for a machine with NVIDIA GPUs, about 12 GB:           sh scripts/setup_verl.sh --gpu
# Models of images without a GPU, in .venv-verl-images, which takes the rest from .venv-verl: sh scripts/setup_verl.sh --images
# Apart from .venv, because vLLM pins versions that other packages there do not have. Called by ./run --verl and ./test.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$ROOT/scripts/setup.sh"
build=cpu
case "${1:-}" in
"" | --images) reason=$(why_no_verl) ;;
--gpu)
    build=gpu
    reason=""
    has_nvidia_gpu || reason="no NVIDIA GPU is to be seen (nvidia-smi -L shows them); without one, leave out --gpu"
    ;;
*) die "$1 is no option: sh scripts/setup_verl.sh [--gpu | --images]" ;;
esac
[ -z "$reason" ] || die "the verl engine cannot run here: $reason; use the local engine"
# The lock for the CPU leaves out what breaks here although it is asked for.
set_up_from_lock .venv-verl "requirements-verl-$build.lock" "$build" "verl, vLLM and Ray" \
    ".venv-verl/bin/bapo train countdown-quick --set engine.type=verl"
[ "${1:-}" = --images ] || exit 0
set_up_on_top .venv-verl-images .venv-verl requirements-verl-images.lock "image processors" \
    "BAPO_VERL_PYTHON=$ROOT/.venv-verl-images/bin/python .venv/bin/bapo train RECIPE --set engine.type=verl"
