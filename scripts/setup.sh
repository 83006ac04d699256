# Sourced by ./run and ./test: makes .venv beside this repository and fills it. POSIX sh.
# Needs $ROOT. `set_up run` installs what the product needs, `set_up test` the development tools as well.

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

install_torch() {
    version=$(torch_version)
    installed=$("$VENV/bin/python" -c 'from importlib.metadata import version; print(version("torch"))' 2>/dev/null || true)
    case "$installed" in "$version" | "$version"+*) return ;; esac
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

set_up() {
    kind=$1
    VENV="$ROOT/.venv"
    extras="[all]"
    [ "$kind" = test ] && extras="[all,dev]"
    stamp=$(cat "$ROOT/requirements.lock" "$ROOT/pyproject.toml" "$ROOT/scripts/setup.sh" | cksum)
    # What the tests need includes what a run needs.
    for done_kind in "$kind" test; do
        if [ -x "$VENV/bin/python" ] && [ "$(cat "$VENV/ready-for-$done_kind" 2>/dev/null)" = "$stamp $ROOT" ]; then
            return
        fi
    done
    python=$(find_python)
    if ! "$VENV/bin/python" -c '' 2>/dev/null; then
        say "creating .venv with $("$python" -V)"
        "$python" -m venv --clear "$VENV" ||
            die "no virtual environment could be made: where Python comes from Debian, apt-get install python3-venv"
    fi
    rm -f "$VENV/ready-for-run" "$VENV/ready-for-test"
    install_torch
    say "installing the packages of requirements.lock ($kind)"
    pip_install -c "$ROOT/requirements.lock" setuptools &&
        pip_install -c "$ROOT/requirements.lock" --no-build-isolation --config-settings editable_mode=compat \
            -e "$ROOT$extras" || pip_failed "The packages of requirements.lock"
    # All cores at once, where pip would take one.
    "$VENV/bin/python" -m compileall -q -j 0 "$VENV/lib" >>"$VENV/pip.log" 2>&1 || true
    printf '%s' "$stamp $ROOT" >"$VENV/ready-for-$kind"
}
