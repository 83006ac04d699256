# A worker with GPUs: the local engine and verl, Ray and vLLM. Context: the repository.
# The driver of the host must support this CUDA; `nvidia-smi` names the newest that it does.
# A package index of your own: docker build --secret id=pip,src=/etc/pip.conf …, or BAPO_PIP_CONF for Compose.
ARG CUDA_IMAGE=nvidia/cuda:13.0.1-devel-ubuntu24.04
# As the base's packages call it.
ARG PYTHON=python3.12
FROM ${CUDA_IMAGE} AS base
ARG PYTHON
# vLLM compiles kernels while it runs: compiler and headers stay in the image.
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      ${PYTHON} ${PYTHON}-dev ${PYTHON}-venv build-essential && rm -rf /var/lib/apt/lists/*

FROM base AS build
ARG PYTHON
WORKDIR /src
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONFIG_FILE=/run/secrets/pip
# First without the sources, so that a change of these keeps the layer with the packages. The lock is complete.
COPY requirements.lock requirements-verl-gpu.lock requirements-reasoning-gym.lock ./
RUN --mount=type=secret,id=pip ${PYTHON} -m venv /opt/bapo \
    && /opt/bapo/bin/pip install -c requirements.lock setuptools \
    && /opt/bapo/bin/pip install --no-deps --no-compile -r requirements-verl-gpu.lock \
    && /opt/bapo/bin/pip install --no-deps --no-compile --no-build-isolation -r requirements-reasoning-gym.lock \
    # All cores at once, where pip would take one. Packages have files for newer versions of Python, which it reports.
    && { /opt/bapo/bin/python -m compileall -q -j 0 /opt/bapo/lib || true; }
COPY . .
RUN /opt/bapo/bin/pip install --no-deps --no-build-isolation ".[verl,worker]"

FROM base
RUN useradd --system --uid 10001 --user-group --home-dir /var/lib/bapo --create-home --shell /usr/sbin/nologin bapo \
    && mkdir -p /var/lib/bapo/worker /var/lib/bapo/worker-token /var/lib/bapo/runs /var/lib/bapo/resources \
    && chown -R bapo:bapo /var/lib/bapo
COPY --from=build /opt/bapo /opt/bapo
# Compiled kernels are kept with the worker's state; the root file system is read-only.
ENV PATH=/opt/bapo/bin:$PATH PYTHONUNBUFFERED=1 PYTHONSAFEPATH=1 HOME=/tmp \
    XDG_CACHE_HOME=/var/lib/bapo/worker/cache TRITON_CACHE_DIR=/var/lib/bapo/worker/cache/triton \
    VLLM_CACHE_ROOT=/var/lib/bapo/worker/cache/vllm BAPO_MODELS_DIR=/var/lib/bapo/worker/models
USER 10001:10001
WORKDIR /var/lib/bapo
CMD ["python", "-m", "worker", "run"]
