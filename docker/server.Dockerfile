# Backend, frontend and the commands of an operator; no PyTorch. Context: the repository.
# A package index of your own: docker build --secret id=pip,src=/etc/pip.conf …, or BAPO_PIP_CONF for Compose.
ARG PYTHON_IMAGE=python:3.11.13-slim-bookworm
FROM ${PYTHON_IMAGE} AS build
WORKDIR /src
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONSTRAINT=requirements.lock PIP_CONFIG_FILE=/run/secrets/pip
# First without the sources, so that a change of these keeps the layer with the packages.
COPY pyproject.toml requirements.lock README.md LICENSE ./
RUN --mount=type=secret,id=pip python -m venv /opt/bapo && /opt/bapo/bin/pip install setuptools \
    && /opt/bapo/bin/pip install --no-build-isolation ".[server,dashboard]"
COPY . .
RUN /opt/bapo/bin/pip install --no-deps --no-build-isolation --force-reinstall .

FROM ${PYTHON_IMAGE}
RUN useradd --system --uid 10001 --user-group --home-dir /var/lib/bapo --create-home --shell /usr/sbin/nologin bapo \
    && mkdir -p /var/lib/bapo/admin /var/lib/bapo/worker-token /var/lib/bapo/runs /var/lib/bapo/artifacts /var/lib/bapo/resources \
    && chown -R bapo:bapo /var/lib/bapo && chmod 700 /var/lib/bapo/admin /var/lib/bapo/worker-token
COPY --from=build /opt/bapo /opt/bapo
ENV PATH=/opt/bapo/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PYTHONSAFEPATH=1 HOME=/tmp
USER 10001:10001
WORKDIR /var/lib/bapo
EXPOSE 8000 8001
CMD ["python", "-m", "backend", "--help"]
