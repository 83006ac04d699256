"""The processes under the engine: Ray started or joined, their errors, memory and load, and their end."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import ray
import transfer_queue as tq
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.engines.local.policy import model_folder
from bapo.engines.verl.environment import worker_environment
from bapo.engines.verl.failures import REMEDY_UPDATE, sentence
from bapo.engines.verl.leftovers import end_processes, remove_shared_memory, temporary_prefix
from bapo.engines.verl.patches import start_ray_without_onlookers
from bapo.engines.verl.settings import reserved_cpus
from bapo.engines.verl.worker_start import HOOK

_RAY_STARTS = 4
"""Tries."""
_KNOCK_SECONDS = 10
_LAST_WORDS_SECONDS = 1
_LAST_LINES = 100
"""Number of last lines shown of each process if one failed."""


class Cluster:
    """Ray on this machine for one run, or a place in a running Ray cluster."""

    def __init__(self, config: RunConfig, *, on_cpu: bool) -> None:
        """Start or join Ray. Raises ConfigError where none answers at the address, or it has too few GPUs."""
        self._begin = time.time()
        self._process = psutil.Process()
        self._other_processes = set(self._process.children(recursive=True))
        self._folder = Path(tempfile.mkdtemp(prefix=temporary_prefix(os.getpid())))
        self._last_load = (time.monotonic(), 0.0)
        self._memory_peak = 0
        try:
            self._start(config, on_cpu=on_cpu)
        except BaseException:
            self.close()
            raise

    def _start(self, config: RunConfig, *, on_cpu: bool) -> None:
        verl = config.engine.verl
        options = {
            "runtime_env": {
                "env_vars": worker_environment(config, on_cpu=on_cpu),
                "worker_process_setup_hook": HOOK,
            },
            "log_to_driver": False,
            "namespace": f"bapo-{uuid.uuid4().hex[:8]}",
        }
        if verl.ray_address is not None:
            try:
                _knock(verl.ray_address)
                ray.init(address=verl.ray_address, **options)
            except (ConnectionError, TimeoutError, socket.gaierror) as error:
                remedy = f"no Ray cluster answers there ({error})"
                if "RAY_AUTH_MODE" not in os.environ:
                    remedy += "; if it asks for a token, set RAY_AUTH_MODE=token here"
                raise _problem("ray_address", verl.ray_address, remedy) from error
        else:
            self._start_here(
                # Ray only counts them: with fewer than are reserved, verl's processes would wait for ever.
                num_cpus=max(os.cpu_count() or 1, reserved_cpus(verl, on_cpu=on_cpu)),
                num_gpus=verl.gpus_per_node if on_cpu else None,
                include_dashboard=False,
                _temp_dir=str(self._folder),
                **options,
            )
        self._check_size(config, on_cpu=on_cpu)

    def _check_size(self, config: RunConfig, *, on_cpu: bool) -> None:
        """Raise ConfigError where verl's processes would wait without an end for GPUs or CPUs, or for their model."""
        verl = config.engine.verl
        nodes = [node for node in ray.nodes() if node["Alive"]]
        gpus = sorted(int(node["Resources"].get("GPU", 0)) for node in nodes)
        if sum(each >= verl.gpus_per_node for each in gpus) < verl.nodes:
            found = ", ".join(map(str, gpus))
            remedy = f"{verl.nodes} machine(s) with so many GPUs are needed, and Ray's have {found}: ask for fewer"
            raise _problem("gpus_per_node", verl.gpus_per_node, remedy)
        wanted, cpus = reserved_cpus(verl, on_cpu=on_cpu), int(ray.cluster_resources().get("CPU", 0))
        if cpus < wanted:
            remedy = (
                f"verl reserves {wanted} CPUs for so many GPUs, and the cluster has {cpus}: add machines, or start "
                "Ray on them with a higher --num-cpus, which it only counts"
            )
            raise _problem("ray_address", verl.ray_address, remedy)
        if verl.ray_address is None:
            return
        folder = model_folder(config.model.path)
        if without := [node["NodeManagerAddress"] for node in nodes if not _has_folder(node["NodeID"], str(folder))]:
            remedy = f"not on the Ray cluster's machines {', '.join(without)}: put it at the same path on all of them"
            raise ConfigError([ConfigProblem("model.path", config.model.path, remedy)])

    def _start_here(self, **options: object) -> None:
        """Start a Ray of our own; again where a busy machine was slower than the half minute that Ray allows."""
        start_ray_without_onlookers()
        for remaining in reversed(range(_RAY_STARTS)):
            try:
                ray.init(**options)
                return
            except Exception as error:
                self._end_processes()
                if not remaining or "timed out during startup" not in str(error):
                    raise

    @contextmanager
    def plain_errors(self, what: str, remedy: str = REMEDY_UPDATE) -> Iterator[None]:
        """Raise RuntimeError in one sentence for a failure of another process; all last words go to standard error."""
        try:
            yield
        except (ray.exceptions.RayError, TimeoutError) as error:
            # An error travels faster than what is written about it.
            time.sleep(_LAST_WORDS_SECONDS)
            last_lines: list[str] = []
            # Those of vLLM's engine are in its server's standard output.
            for path in sorted(self._folder.glob("session_latest/logs/worker-*.*")):
                lines = path.read_text(errors="replace").splitlines()[-_LAST_LINES:]
                if lines:
                    print(f"--- {path.name}", *lines, sep="\n", file=sys.stderr)
                last_lines += lines
            cause = getattr(error, "cause", None) or error
            message = str(cause).strip() or type(cause).__name__
            raise RuntimeError(sentence(what, message, last_lines, remedy=remedy)) from error

    def utilisation(self) -> Mapping[str, float]:
        """Return resident memory of all processes, shared pages counted in each, and CPU load since the last call."""
        memory, busy_seconds = 0, 0.0
        for process in (self._process, *self._process.children(recursive=True)):
            try:
                memory += process.memory_info().rss
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            busy_seconds += times.user + times.system
        now = time.monotonic()
        begin, busy_before = self._last_load
        self._last_load = (now, busy_seconds)
        self._memory_peak = max(self._memory_peak, memory)
        return {
            "memory_bytes": float(memory),
            "memory_peak_bytes": float(self._memory_peak),
            "cpu_percent": max(0.0, 100 * (busy_seconds - busy_before) / (now - begin)),
        }

    def close(self) -> None:
        """End all processes and remove what they leave behind."""
        if ray.is_initialized():
            tq.close()
        self._end_processes()
        remove_shared_memory(self._begin)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _end_processes(self) -> None:
        started = [each for each in self._process.children(recursive=True) if each not in self._other_processes]
        ray.shutdown()
        end_processes(started)


def _knock(address: str) -> None:
    """Raise OSError where nothing listens: Ray itself keeps trying for minutes.

    Addresses without a port, such as `auto`, Ray looks up on this machine.
    """
    parts = urlsplit(address if "://" in address else f"ray://{address}")
    if parts.hostname is not None and parts.port is not None:
        socket.create_connection((parts.hostname, parts.port), timeout=_KNOCK_SECONDS).close()


@contextmanager
def start_limit(seconds: int) -> Iterator[None]:
    """Raise TimeoutError if the block takes longer. This interrupts the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    is_over = threading.Event()

    def interrupt(*_: object) -> None:
        is_over.set()
        # The one exception with which Ray ends its waiting for other processes.
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    begin, (others_seconds, _) = time.monotonic(), signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except KeyboardInterrupt:
        if not is_over.is_set():
            raise
        free = ray.available_resources()
        raise TimeoutError(
            f"not ready after {seconds} s, the most that engine.verl.start_seconds allows; Ray has "
            f"{free.get('GPU', 0):.0f} GPUs and {free.get('CPU', 0):.0f} CPUs free"
        ) from None
    finally:
        remaining = max(others_seconds - (time.monotonic() - begin), 0.001) if others_seconds else 0
        signal.setitimer(signal.ITIMER_REAL, remaining)
        signal.signal(signal.SIGALRM, before)


def _has_folder(node_id: str, folder: str) -> bool:
    here = NodeAffinitySchedulingStrategy(node_id=node_id, soft=False)
    answer = ray.remote(os.path.isdir).options(num_cpus=0, scheduling_strategy=here).remote(folder)
    return bool(ray.get(answer))


def _problem(field: str, value: object, remedy: str) -> ConfigError:
    return ConfigError([ConfigProblem(f"engine.verl.{field}", value, remedy)])
