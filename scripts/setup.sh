# Sourced by ./run, ./test, setup_verl.sh and setup_trl.sh: makes environments beside this repository. POSIX sh.
# Needs $ROOT. `set_up run` installs in .venv what the product needs, `set_up test` the development tools as well;
# `set_up_from_lock` fills an environment with exactly what a lock lists.

say() {
    printf '%s\n' "bapo: $*"
}

die() {
    printf '%s\n' "bapo: $*" >&2
    exit 1
}

find_python() {
    for candidate in "${PYTHON:-}" python3.11 python3 python3.12 python3.13 python; do
        [ -n "$candidate" ] || continue
        if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
            printf '%s' "$candidate"
            return
        fi
    done
    die "Python 3.11 is needed and none was found: install it, or name it, as in PYTHON=/path/to/python3.11 $0"
}

has_nvidia_gpu() {
    [ -e /dev/nvidia0 ] || { command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi -L 2>/dev/null | grep -q GPU; }
}

# Why the verl engine cannot run here without a GPU; nothing where it can.
why_no_verl() {
    case "$(uname -sm)" in
    "Linux x86_64" | "Linux aarch64") ;;
    *)
        printf '%s' "vLLM's build for the CPU exists for Linux on x86-64 and ARM only"
        return
        ;;
    esac
    if [ "$(uname -m)" = x86_64 ] && ! grep -qw avx2 /proc/cpuinfo; then
        printf '%s' "vLLM's build for the CPU needs AVX2, which this processor does not have"
    elif [ "$(sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' /proc/meminfo)" -lt 11500000 ]; then
        printf '%s' "it takes 11 GB of memory, and this machine has less than 12"
    fi
}

# Why TRL cannot run here; nothing where it can.
why_no_trl() {
    [ "$(uname -sm)" != "Darwin x86_64" ] || printf '%s' "PyTorch has no build for Intel's Macs any more"
}

engine_answers() {
    docker version --format '{{.Server.Version}}' >/dev/null 2>&1
}

# Why no containers can run here; nothing where they can.
why_no_containers() {
    if ! engine_answers; then
        printf '%s' "no container engine answers"
    elif ! docker compose version >/dev/null 2>&1; then
        printf '%s' "docker has no Compose plugin"
    fi
}

# pip_install WHAT... : what pip says goes to a log, which `pip_failed` shows.
pip_install() {
    "$VENV/bin/python" -m pip install --disable-pip-version-check --no-input --no-compile "$@" >>"$VENV/pip.log" 2>&1
}

pip_failed() {
    tail -n 30 "$VENV/pip.log" >&2
    die "$* could not be installed; pip's messages are above, all of them in $VENV/pip.log"
}

torch_version() {
    sed -n 's/^torch==//p' "$ROOT/requirements.lock"
}

installed_torch() {
    "$VENV/bin/python" -c 'from importlib.metadata import version; print(version("torch"))' 2>/dev/null || true
}

install_torch() {
    version=$(torch_version)
    case "$(installed_torch)" in "$version" | "$version"+*) return ;; esac
    if has_nvidia_gpu || [ "$(uname -s)" = Darwin ]; then
        say "installing PyTorch $version"
        pip_install --no-deps "torch==$version" || pip_failed "PyTorch $version"
        return
    fi
    install_cpu_torch "$version"
}

install_cpu_torch() {
    version=$1
    say "installing PyTorch $version, the build for the CPU"
    # The plain wheel for Linux brings gigabytes of CUDA, so only a wheel that says +cpu will do.
    if pip_install --no-deps "torch==$version+cpu"; then
        return
    fi
    say "pip's own sources do not have it: taking it from PyTorch's wheel index"
    pip_install --no-deps --index-url https://download.pytorch.org/whl/cpu "torch==$version+cpu" ||
        pip_failed "PyTorch $version"
}

make_environment() {
    python=$(find_python)
    if ! "$VENV/bin/python" -c '' 2>/dev/null; then
        say "creating $(basename "$VENV") with $("$python" -V)"
        "$python" -m venv --clear "$VENV" ||
            die "no virtual environment could be made: where Python comes from Debian, apt-get install python3-venv"
    fi
}

compile_packages() {
    # All cores at once, where pip would take one.
    "$VENV/bin/python" -m compileall -q -j 0 "$VENV/lib" >>"$VENV/pip.log" 2>&1 || true
}

# Without a compiler, everything but reasoning_gym tasks works: it is said at each start, and made up for once there is one.
install_reasoning_gym() {
    pins="$ROOT/requirements-reasoning-gym.lock"
    [ "$(cat "$VENV/reasoning-gym" 2>/dev/null)" != "$(cksum <"$pins")" ] || return 0
    if { command -v cc || command -v gcc || command -v clang; } >/dev/null 2>&1; then
        say "installing reasoning-gym"
        if pip_install --no-deps --no-build-isolation -r "$pins"; then
            cksum <"$pins" >"$VENV/reasoning-gym"
            return 0
        fi
    fi
    say "reasoning_gym tasks and the recipe gsm-mini are not available: install a C compiler and Python's headers (on Debian: apt-get install gcc python3-dev) and start this again"
}

set_up() {
    kind=$1
    VENV="$ROOT/.venv"
    extras="[all]"
    [ "$kind" = test ] && extras="[all,dev]"
    stamp=$(cat "$ROOT/requirements.lock" "$ROOT/pyproject.toml" "$ROOT/scripts/setup.sh" | cksum)
    # What the tests need includes what a run needs.
    for done_kind in "$kind" test; do
        if [ -x "$VENV/bin/python" ] && [ "$(cat "$VENV/ready-for-$done_kind" 2>/dev/null)" = "$stamp $ROOT" ]; then
            install_reasoning_gym
            return
        fi
    done
    make_environment
    rm -f "$VENV/ready-for-run" "$VENV/ready-for-test"
    install_torch
    say "installing the packages of requirements.lock ($kind)"
    pip_install -c "$ROOT/requirements.lock" setuptools &&
        pip_install -c "$ROOT/requirements.lock" --no-build-isolation --config-settings editable_mode=compat \
            -e "$ROOT$extras" || pip_failed "The packages of requirements.lock"
    install_reasoning_gym
    compile_packages
    printf '%s' "$stamp $ROOT" >"$VENV/ready-for-$kind"
}

# set_up_from_lock ENVIRONMENT LOCK BUILD WHAT READY : BUILD is that of PyTorch, cpu or gpu; READY is said after the work.
# Nothing is done or said where all is there.
set_up_from_lock() {
    VENV="$ROOT/$1"
    lock="$ROOT/$2"
    stamp=$(cat "$lock" "$ROOT/scripts/setup.sh" "$ROOT/pyproject.toml" | cksum)
    if [ -x "$VENV/bin/python" ] && [ "$(cat "$VENV/ready" 2>/dev/null)" = "$stamp $ROOT" ]; then
        return
    fi
    make_environment
    rm -f "$VENV/ready"
    if [ "$3" = gpu ] || [ "$(uname -s)" = Darwin ]; then
        cat "$lock" >"$VENV/packages.txt"
    else
        version=$(sed -n 's/^torch==//p' "$lock")
        [ "$(installed_torch)" = "$version+cpu" ] || install_cpu_torch "$version"
        grep -v '^torch==' "$lock" >"$VENV/packages.txt"
    fi
    say "installing the packages of $2: $4"
    # The lock is complete, and may leave out what is asked for but breaks: hence --no-deps.
    pip_install --no-deps -r "$VENV/packages.txt" &&
        pip_install --no-deps --no-build-isolation --config-settings editable_mode=compat -e "$ROOT" ||
        pip_failed "The packages of $2"
    # TRL's runs are observed: their task is their own.
    [ "$1" = .venv-trl ] || install_reasoning_gym
    compile_packages
    printf '%s' "$stamp $ROOT" >"$VENV/ready"
    say "ready: $5"
}

# set_up_on_top ENVIRONMENT BELOW LOCK WHAT READY : a small environment that sees the packages of the one below.
set_up_on_top() {
    VENV="$ROOT/$1"
    stamp=$(cat "$ROOT/$3" "$ROOT/scripts/setup.sh" | cksum)
    if [ -x "$VENV/bin/python" ] && [ "$(cat "$VENV/ready" 2>/dev/null)" = "$stamp $ROOT" ]; then
        return
    fi
    make_environment
    rm -f "$VENV/ready"
    say "installing the packages of $3: $4"
    pip_install --no-deps -r "$ROOT/$3" || pip_failed "The packages of $3"
    paths='import sysconfig; print(sysconfig.get_path("purelib"))'
    below=$("$ROOT/$2/bin/python" -c "$paths")
    printf 'import site; site.addsitedir("%s")\nimport bapo.engines.verl.torchvision_cpu as each; each.install()\n' "$below" \
        >"$("$VENV/bin/python" -c "$paths")/on-top.pth"
    printf '%s' "$stamp $ROOT" >"$VENV/ready"
    say "ready: $5"
}
