#!/bin/sh
# Installs Chromium for the browser tests where there is none: sh scripts/setup_chromium.sh. Called by ./test.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$ROOT/scripts/setup.sh"
for name in chromium-headless-shell chromium google-chrome chromium-browser; do
    ! command -v "$name" >/dev/null || exit 0
done
command -v apt-get >/dev/null 2>&1 ||
    die "the browser tests need Chromium: install it so that 'chromium' is on PATH, or run ./test --fast"
if [ "$(id -u)" = 0 ]; then
    as_root=""
elif sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    die "the browser tests need Chromium: run 'sudo apt-get install chromium', or ./test --fast"
fi
say "installing Chromium with apt-get"
$as_root apt-get update
# The shell where there is a package of it: it draws no windows, for which it takes less CPU time.
for package in chromium-headless-shell chromium; do
    ! apt-cache show "$package" >/dev/null || break
done
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$package" ||
    die "Chromium could not be installed; apt-get's message is above (./test --fast does without it)"
