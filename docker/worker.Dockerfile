# A worker that trains on the CPU with the local engine. Context: the repository.
# A package index of your own: docker build --secret id=pip,src=/etc/pip.conf …, or BAPO_PIP_CONF for Compose.
ARG PYTHON_IMAGE=python:3.11.13-slim-bookworm
FROM ${PYTHON_IMAGE} AS build
WORKDIR /src
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONSTRAINT=requirements.lock PIP_CONFIG_FILE=/run/secrets/pip
# First without the sources, so that a change of these keeps the layer with the packages.
COPY pyproject.toml requirements.lock requirements-reasoning-gym.lock README.md LICENSE ./
# For pycosat, which reasoning-gym needs.
RUN command -v gcc || { apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev; }
# PyTorch's build for the CPU comes from pip's own sources where they have it, otherwise from PyTorch's index; the plain
# wheel brings gigabytes of CUDA. A constraint to 2.x also permits 2.x+cpu.
RUN --mount=type=secret,id=pip torch="$(grep '^torch==' requirements.lock)+cpu" && python -m venv /opt/bapo \
    && { /opt/bapo/bin/pip install --no-deps "$torch" \
      || /opt/bapo/bin/pip install --no-deps --index-url https://download.pytorch.org/whl/cpu "$torch"; }
RUN --mount=type=secret,id=pip /opt/bapo/bin/pip install setuptools \
    && /opt/bapo/bin/pip install --no-build-isolation ".[worker]" \
    && /opt/bapo/bin/pip install --no-deps --no-build-isolation -r requirements-reasoning-gym.lock
COPY . .
RUN /opt/bapo/bin/pip install --no-deps --no-build-isolation --force-reinstall .

FROM ${PYTHON_IMAGE}
RUN useradd --system --uid 10001 --user-group --home-dir /var/lib/bapo --create-home --shell /usr/sbin/nologin bapo \
    && mkdir -p /var/lib/bapo/worker /var/lib/bapo/worker-token /var/lib/bapo/runs /var/lib/bapo/resources \
    && chown -R bapo:bapo /var/lib/bapo
COPY --from=build /opt/bapo /opt/bapo
ENV PATH=/opt/bapo/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PYTHONSAFEPATH=1 HOME=/tmp \
    BAPO_MODELS_DIR=/var/lib/bapo/worker/models
USER 10001:10001
WORKDIR /var/lib/bapo
CMD ["python", "-m", "worker", "run"]
