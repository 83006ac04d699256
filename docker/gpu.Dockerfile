# A worker with GPUs: the local engine and verl, Ray and vLLM. Context: the repository.
# The driver of the host must support this CUDA; `nvidia-smi` names the newest that it does.
ARG CUDA_IMAGE=nvidia/cuda:13.0.1-devel-ubuntu24.04
FROM ${CUDA_IMAGE}
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      python3.12 python3.12-dev python3.12-venv build-essential git && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# vLLM pins PyTorch and much else: its own versions decide, ours only bound them.
RUN python3.12 -m venv /opt/bapo && /opt/bapo/bin/pip install --no-cache-dir --disable-pip-version-check ".[verl,worker]" \
    && /opt/bapo/bin/python -m compileall -q -j 0 /opt/bapo/lib && rm -rf /src/*
RUN useradd --system --uid 10001 --user-group --home-dir /var/lib/bapo --create-home --shell /usr/sbin/nologin bapo \
    && mkdir -p /var/lib/bapo/worker /var/lib/bapo/worker-token /var/lib/bapo/runs /var/lib/bapo/resources \
    && chown -R bapo:bapo /var/lib/bapo
# Compiled kernels are kept with the worker's state; the root file system is read-only.
ENV PATH=/opt/bapo/bin:$PATH PYTHONUNBUFFERED=1 PYTHONSAFEPATH=1 HOME=/tmp \
    XDG_CACHE_HOME=/var/lib/bapo/worker/cache TRITON_CACHE_DIR=/var/lib/bapo/worker/cache/triton \
    VLLM_CACHE_ROOT=/var/lib/bapo/worker/cache/vllm
USER 10001:10001
WORKDIR /var/lib/bapo
CMD ["python", "-m", "worker", "run"]
