#!/bin/sh
# Runs the tests of the images: sh tests/containers/run.sh. Where no container engine answers, root starts one for them.
set -eu
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
. "$ROOT/scripts/setup.sh"
cd "$ROOT"

compose_plugin() {
    docker compose version >/dev/null 2>&1 && return
    command -v apt-get >/dev/null 2>&1 || return 0
    folder="$ROOT/.containers/docker/cli-plugins"
    export DOCKER_CONFIG="$ROOT/.containers/docker"
    [ ! -x "$folder/docker-compose" ] || return 0
    say "taking the Compose plugin from Debian 13"
    lists="$ROOT/.containers/lists"
    mkdir -p "$folder" "$lists/lists/partial" "$lists/archives/partial"
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb [signed-by=$key] http://deb.debian.org/debian trixie main" >"$lists/sources.list"
    set -- -q -o Dir::Etc::SourceList="$lists/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State="$lists" \
        -o APT::Sandbox::User=root -o Dir::Cache="$lists"
    (cd "$lists" && apt-get "$@" update && apt-get "$@" download docker-compose && dpkg -x docker-compose_*.deb .) \
        >"$ROOT/.test-logs/compose-plugin.log" 2>&1 || return 0
    cp "$(find "$lists/usr" -path '*cli-plugins/docker-compose')" "$folder/"
    rm -r "$lists"
}

start_engine() {
    mkdir -p "$ROOT/.test-logs"
    engine=""
    if command -v docker >/dev/null 2>&1; then compose_plugin; fi
    ! engine_answers || return 0
    { [ "$(id -u)" = 0 ] && command -v dockerd >/dev/null 2>&1; } || return 0
    say "no container engine answers: starting dockerd until the tests end"
    dockerd >"$ROOT/.test-logs/dockerd.log" 2>&1 &
    engine=$!
    # It takes seconds; whether it came is asked again by the caller.
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
        ! engine_answers || return 0
        sleep 2
    done
}

end_engine() {
    [ -z "$engine" ] || { kill "$engine" && wait "$engine" || true; }
}

start_engine
trap end_engine EXIT
reason=$(why_no_containers)
[ -z "$reason" ] || die "the tests of the images cannot run: $reason"
.venv/bin/python -m pytest -m containers tests/containers
