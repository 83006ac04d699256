#!/bin/sh
# Makes .venv-verl, in which the verl engine runs without a GPU: sh scripts/setup_verl.sh
# Apart from .venv, because vLLM pins versions that other packages there do not have. Called by ./run --verl and ./test.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$ROOT/scripts/setup.sh"
VENV="$ROOT/.venv-verl"
LOCK="$ROOT/requirements-verl-cpu.lock"

reason=$(why_no_verl)
[ -z "$reason" ] || die "the verl engine cannot run here: $reason; use the local engine"
stamp=$(cat "$LOCK" "$ROOT/scripts/setup_verl.sh" "$ROOT/pyproject.toml" | cksum)
if [ -x "$VENV/bin/python" ] && [ "$(cat "$VENV/ready" 2>/dev/null)" = "$stamp $ROOT" ]; then
    exit 0
fi
python=$(find_python)
if ! "$VENV/bin/python" -c '' 2>/dev/null; then
    say "creating .venv-verl with $("$python" -V)"
    "$python" -m venv --clear "$VENV" ||
        die "no virtual environment could be made: where Python comes from Debian, apt-get install python3-venv"
fi
rm -f "$VENV/ready"
version=$(sed -n 's/^torch==//p' "$LOCK")
if [ "$("$VENV/bin/python" -c 'from importlib.metadata import version; print(version("torch"))' 2>/dev/null)" != \
    "$version+cpu" ]; then
    install_cpu_torch "$version"
fi
say "installing the packages of requirements-verl-cpu.lock: verl, vLLM and Ray, about 3 GB"
# The lock is complete, and leaves out what breaks here although it is asked for: hence --no-deps.
grep -v '^torch==' "$LOCK" >"$VENV/packages.txt"
pip_install --no-deps -r "$VENV/packages.txt" &&
    pip_install --no-deps --no-build-isolation --config-settings editable_mode=compat -e "$ROOT" ||
    pip_failed "The packages of requirements-verl-cpu.lock"
"$VENV/bin/python" -m compileall -q -j 0 "$VENV/lib" >>"$VENV/pip.log" 2>&1 || true
printf '%s' "$stamp $ROOT" >"$VENV/ready"
say "ready: .venv-verl/bin/bapo train countdown-quick --set engine.type=verl"
