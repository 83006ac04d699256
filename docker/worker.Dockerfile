# A worker that trains on the CPU with the local engine. Context: the repository.
FROM python:3.11.13-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml requirements.lock docker/dependencies.py ./
# PyTorch's build for the CPU comes from its own index; the plain wheel brings gigabytes of CUDA.
RUN python -m venv /opt/bapo && /opt/bapo/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps \
      --index-url https://download.pytorch.org/whl/cpu "$(python dependencies.py torch)+cpu"
RUN /opt/bapo/bin/pip install --no-cache-dir --disable-pip-version-check -c requirements.lock setuptools \
      $(python dependencies.py worker)
COPY . .
RUN /opt/bapo/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps --no-build-isolation .

FROM python:3.11.13-slim-bookworm
RUN useradd --system --uid 10001 --user-group --home-dir /var/lib/bapo --create-home --shell /usr/sbin/nologin bapo \
    && mkdir -p /var/lib/bapo/worker /var/lib/bapo/worker-token /var/lib/bapo/runs /var/lib/bapo/resources \
    && chown -R bapo:bapo /var/lib/bapo
COPY --from=build /opt/bapo /opt/bapo
ENV PATH=/opt/bapo/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PYTHONSAFEPATH=1 HOME=/tmp
USER 10001:10001
WORKDIR /var/lib/bapo
CMD ["python", "-m", "worker", "run"]
