#!/bin/sh
# Makes .venv-trl, in which TRL trains for the tests of bapo.observe.trl: sh scripts/setup_trl.sh
# About 1.5 GB. Apart from .venv, because TRL wants newer versions than the verl engine bears. Called by ./test.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$ROOT/scripts/setup.sh"
[ $# -eq 0 ] || die "$1 is no option: sh scripts/setup_trl.sh"
reason=$(why_no_trl)
[ -z "$reason" ] || die "TRL cannot run here: $reason"
set_up_from_lock .venv-trl requirements-trl.lock cpu "TRL and what it asks for" \
    ".venv-trl/bin/python examples/observe_trl.py"
