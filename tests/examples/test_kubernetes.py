"""The manifests for Kubernetes: fields as the API has them, and the same services as in docker-compose.yml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import kubernetes_validate
import pytest
import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter
from pydantic.alias_generators import to_camel

from bapo.deploy.settings import known_variables
from tests.support.compose import ROOT, resolved
from worker.settings import WorkerSettings
from worker.supervision import REPORT_GRACE_SECONDS

KUBERNETES = ROOT / "examples" / "kubernetes"
BROKER = {"BAPO_BROKER_URL", "BAPO_BROKER_PASSWORD_FILE", "redis-password"}
"""Of Compose's workers; those on Kubernetes ask the server for their runs."""
Quantity = Annotated[str | int, Field(union_mode="left_to_right")]
Mode = Annotated[int, Field(ge=0, le=0o777)]


class Part(BaseModel):
    """A part of an object of the API, with those of its fields that the manifests use."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, strict=True)


class Metadata(Part):
    name: str
    namespace: Literal["bapo"] | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Labels(Part):
    labels: dict[str, str]


class Selector(Part):
    match_labels: dict[str, str]


class Key(Part):
    name: str
    key: str


class FieldPath(Part):
    field_path: Literal["metadata.name"]


class Source(Part):
    config_map_key_ref: Key | None = None
    field_ref: FieldPath | None = None


class Variable(Part):
    name: str
    value: str | None = None
    value_from: Source | None = None


class Command(Part):
    command: list[str]


class Socket(Part):
    port: int


class Probe(Part):
    exec: Command | None = None
    tcp_socket: Socket | None = None
    initial_delay_seconds: int = 0
    period_seconds: int
    timeout_seconds: int = 1
    failure_threshold: int = 3


class Amounts(Part):
    requests: dict[str, Quantity]
    limits: dict[str, Quantity] = {}


class Dropped(Part):
    drop: list[str]


class ContainerSecurity(Part):
    allow_privilege_escalation: Literal[False]
    read_only_root_filesystem: Literal[True]
    capabilities: Dropped


class Mount(Part):
    name: str
    mount_path: Annotated[str, StringConstraints(pattern="^/")]
    read_only: bool = False


class ContainerPort(Part):
    container_port: int


class Container(Part):
    name: str
    image: str
    command: list[str] = []
    args: list[str]
    env: list[Variable] = []
    ports: list[ContainerPort] = []
    startup_probe: Probe | None = None
    readiness_probe: Probe | None = None
    liveness_probe: Probe | None = None
    resources: Amounts
    security_context: ContainerSecurity
    volume_mounts: list[Mount]


class Seccomp(Part):
    type: Literal["RuntimeDefault"]


class PodSecurity(Part):
    run_as_non_root: Literal[True]
    run_as_user: int
    run_as_group: int
    fs_group: int | None = None
    fs_group_change_policy: Literal["OnRootMismatch"] | None = None
    seccomp_profile: Seccomp


class Item(Part):
    key: str
    path: str


class SecretVolume(Part):
    secret_name: str
    default_mode: Mode
    items: list[Item] = []


class EmptyDir(Part):
    medium: Literal["Memory"] | None = None
    size_limit: str | None = None


class ClaimVolume(Part):
    claim_name: str


class Volume(Part):
    name: str
    secret: SecretVolume | None = None
    empty_dir: EmptyDir | None = None
    persistent_volume_claim: ClaimVolume | None = None


class PodSpec(Part):
    automount_service_account_token: Literal[False]
    enable_service_links: Literal[False]
    share_process_namespace: bool = False
    termination_grace_period_seconds: int
    security_context: PodSecurity
    init_containers: list[Container] = []
    containers: list[Container]
    volumes: list[Volume]


class Pod(Part):
    metadata: Labels
    spec: PodSpec


class ClaimSpec(Part):
    access_modes: list[Literal["ReadWriteOnce", "ReadWriteMany"]]
    resources: Amounts


class Claim(Part):
    """Of a volume, by itself or as a template."""

    api_version: Literal["v1"] = "v1"
    kind: Literal["PersistentVolumeClaim"] = "PersistentVolumeClaim"
    metadata: Metadata
    spec: ClaimSpec


class Strategy(Part):
    type: Literal["Recreate", "RollingUpdate"]


class DeploymentSpec(Part):
    replicas: int
    strategy: Strategy | None = None
    selector: Selector
    template: Pod


class Deployment(Part):
    api_version: Literal["apps/v1"]
    kind: Literal["Deployment"]
    metadata: Metadata
    spec: DeploymentSpec


class StatefulSetSpec(Part):
    service_name: str
    replicas: int
    pod_management_policy: Literal["Parallel"] | None = None
    selector: Selector
    template: Pod
    volume_claim_templates: list[Claim]


class StatefulSet(Part):
    api_version: Literal["apps/v1"]
    kind: Literal["StatefulSet"]
    metadata: Metadata
    spec: StatefulSetSpec


class ServiceSpec(Part):
    selector: dict[str, str]
    ports: list[Socket]


class Service(Part):
    api_version: Literal["v1"]
    kind: Literal["Service"]
    metadata: Metadata
    spec: ServiceSpec


class Peer(Part):
    pod_selector: Selector


class Rule(Part):
    from_: list[Peer] = Field(alias="from")
    ports: list[Socket]


class PolicySpec(Part):
    pod_selector: Selector
    policy_types: list[Literal["Ingress"]]
    ingress: list[Rule]


class NetworkPolicy(Part):
    api_version: Literal["networking.k8s.io/v1"]
    kind: Literal["NetworkPolicy"]
    metadata: Metadata
    spec: PolicySpec


class Namespace(Part):
    api_version: Literal["v1"]
    kind: Literal["Namespace"]
    metadata: Metadata


class ConfigMap(Part):
    api_version: Literal["v1"]
    kind: Literal["ConfigMap"]
    metadata: Metadata
    data: dict[str, str]


class Secret(Part):
    api_version: Literal["v1"]
    kind: Literal["Secret"]
    metadata: Metadata
    type: Literal["Opaque"]
    string_data: dict[str, str]


class AuthOptions(Part):
    mode: Literal["token"]


class HeadGroup(Part):
    ray_start_params: dict[str, str]
    template: Pod


class WorkerGroup(HeadGroup):
    group_name: str
    replicas: int
    min_replicas: int
    max_replicas: int


class RayClusterSpec(Part):
    ray_version: str
    auth_options: AuthOptions
    head_group_spec: HeadGroup
    worker_group_specs: list[WorkerGroup]


class RayCluster(Part):
    """Of KubeRay; its fields were held against the schema of KubeRay's own definition by hand, which is not here."""

    api_version: Literal["ray.io/v1"]
    kind: Literal["RayCluster"]
    metadata: Metadata
    spec: RayClusterSpec


Workload = Deployment | StatefulSet
_OBJECT: TypeAdapter[Any] = TypeAdapter(
    Annotated[
        Claim | Deployment | StatefulSet | Service | NetworkPolicy | Namespace | ConfigMap | Secret,
        Field(discriminator="kind"),
    ]
)


def objects(name: str) -> list[Any]:
    """The objects of a file, checked field by field."""
    return [_OBJECT.validate_python(each) for each in yaml.safe_load_all((KUBERNETES / name).read_text())]


@pytest.fixture(scope="module")
def customization() -> Mapping[str, Any]:
    content: dict[str, Any] = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())
    return content


@pytest.fixture(scope="module")
def applied(customization: Mapping[str, Any]) -> list[Any]:
    """Every object that `kubectl apply -k` makes."""
    return [each for name in customization["resources"] for each in objects(name)]


@pytest.fixture(scope="module")
def workloads(applied: list[Any]) -> Mapping[str, Workload]:
    return {each.metadata.name: each for each in applied if isinstance(each, Workload)}


@pytest.fixture(scope="module")
def compose() -> Mapping[str, Any]:
    """docker-compose.yml with the public address of the manifests."""
    given = {"BAPO_PUBLIC_URL": "https://bapo.example.org", "BAPO_SECRETS": "/etc/bapo/secrets"}
    services: dict[str, Any] = resolved(given)["services"]
    return services


def containers(workload: Workload) -> Mapping[str, Container]:
    pod = workload.spec.template.spec
    return {each.name: each for each in (*pod.init_containers, *pod.containers)}


def test_what_is_applied_is_there_and_the_secrets_are_not(customization: Mapping[str, Any]) -> None:
    assert (customization["apiVersion"], customization["kind"]) == (
        "kustomize.config.k8s.io/v1beta1",
        "Kustomization",
    )
    files = {path.name for path in KUBERNETES.iterdir()}
    others = {"kustomization.yaml", "secrets.template.yaml", "ray-cluster.yaml"}
    assert files - set(customization["resources"]) == others
    for secret in objects("secrets.template.yaml"):
        assert set(secret.string_data.values()) == {""}


@pytest.mark.parametrize(
    "file", ["databases.yaml", "namespace.yaml", "secrets.template.yaml", "server.yaml", "worker-gpu.yaml"]
)
def test_each_object_is_one_of_the_api_of_kubernetes(file: str) -> None:
    for each in yaml.safe_load_all((KUBERNETES / file).read_text()):
        kubernetes_validate.validate(each, kubernetes_validate.latest_version(), strict=True)


def test_the_head_of_a_ray_cluster_is_the_worker_of_the_other_manifests(
    workloads: Mapping[str, Workload], customization: Mapping[str, Any]
) -> None:
    cluster = RayCluster.model_validate(yaml.safe_load((KUBERNETES / "ray-cluster.yaml").read_text()))
    head, (machines,) = cluster.spec.head_group_spec.template.spec, cluster.spec.worker_group_specs
    (container,), (ray,) = head.containers, machines.template.spec.containers
    worker = containers(workloads["worker-gpu"])["worker-gpu"]

    def settings(of: Container) -> dict[str, str | None]:
        return {each.name: each.value for each in of.env if each.name != "BAPO_WORKER_NAME"}

    assert settings(container) == settings(worker)
    given = {each.name: each for each in workloads["worker-gpu"].spec.template.spec.volumes}
    assert {each.mount_path for each in container.volume_mounts} == {each.mount_path for each in worker.volume_mounts}
    assert {each.name for each in head.volumes} == {each.name for each in container.volume_mounts}
    assert {each.name: each for each in head.volumes}["worker-token"] == given["worker-token"]
    # KubeRay's own command, under the worker, which gets the pod's signals.
    assert container.args[0].endswith(f"$KUBERAY_GEN_RAY_START_CMD & exec {' '.join(worker.args)}")
    assert head.termination_grace_period_seconds == 630
    assert (container.image, ray.image) == (_pushed("bapo-worker-gpu", customization),) * 2
    lock = (ROOT / "requirements-verl-gpu.lock").read_text()
    assert re.search(rf"^ray==({re.escape(cluster.spec.ray_version)})$", lock, re.MULTILINE)
    # What verl reserves with Ray, or its processes wait without an end.
    amounts = [container.resources] + [ray.resources] * machines.replicas
    gpus = sum(int(each.limits["nvidia.com/gpu"]) for each in amounts)
    assert sum(int(each.requests["cpu"]) for each in amounts) >= 3 * gpus + 13


def _pushed(image: str, customization: Mapping[str, Any]) -> str:
    (found,) = [each for each in customization["images"] if each["name"] == image]
    return f"{found['newName']}:{found['newTag']}"


def test_images_are_those_of_compose(
    customization: Mapping[str, Any], workloads: Mapping[str, Workload], compose: Mapping[str, Any]
) -> None:
    tagged = {each["name"]: f"{each['name']}:{each['newTag']}" for each in customization["images"]}
    for workload in workloads.values():
        for name, container in containers(workload).items():
            assert tagged.get(container.image, container.image) == compose[name]["image"]


def test_commands_and_environments_are_those_of_compose(
    applied: list[Any], workloads: Mapping[str, Workload], compose: Mapping[str, Any]
) -> None:
    (settings,) = (each.data for each in applied if isinstance(each, ConfigMap))
    seen = set()
    for workload in workloads.values():
        for name, container in containers(workload).items():
            seen.add(name)
            given = {}
            for variable in container.env:
                source = variable.value_from
                if source is None:
                    given[variable.name] = variable.value
                elif source.config_map_key_ref is not None:
                    given[variable.name] = settings[source.config_map_key_ref.key]
                else:
                    # The pod's name is that of the StatefulSet with a number.
                    given[variable.name] = workload.metadata.name
            environment = {
                variable: value
                for variable, value in compose[name].get("environment", {}).items()
                if value and not (name == "worker-gpu" and variable in BROKER)
            }
            assert given == environment
            assert {variable for variable in given if variable.startswith("BAPO_")} <= known_variables()
            command = [part.rstrip("\n") for part in compose[name]["command"]]
            assert [part.rstrip("\n") for part in container.args] == command
    # What is missing is the worker without GPUs.
    assert seen == set(compose) - {"worker"}


def test_probes_are_the_health_checks_of_compose(workloads: Mapping[str, Workload], compose: Mapping[str, Any]) -> None:
    for workload in workloads.values():
        (container,) = workload.spec.template.spec.containers
        kind, *test = compose[container.name]["healthcheck"]["test"]
        if kind == "CMD-SHELL":
            test = ["/bin/sh", "-c", *test]
        assert container.readiness_probe is not None
        assert container.readiness_probe.exec is not None
        assert container.readiness_probe.exec.command == test
        if container.liveness_probe is not None and container.liveness_probe.exec is not None:
            *command, address = container.liveness_probe.exec.command
            assert command == test[:-1]
            assert address == "http://127.0.0.1:8001/healthz"
    worker = containers(workloads["worker-gpu"])["worker-gpu"]
    # A server that is away for a minute must not end anybody's training.
    assert worker.liveness_probe is None


def test_ports_are_those_that_others_ask(applied: list[Any], workloads: Mapping[str, Workload]) -> None:
    for service in (each for each in applied if isinstance(each, Service)):
        name = service.metadata.name
        (container,) = workloads[name].spec.template.spec.containers
        assert service.spec.selector == {"app": name}
        assert [each.port for each in service.spec.ports] == [each.container_port for each in container.ports]
    # Addresses of other services, in every environment: http://backend:8001, redis://redis:6379/0 and so on.
    ports = {each.metadata.name: each.spec.ports[0].port for each in applied if isinstance(each, Service)}
    values = [
        each.value or "" for workload in workloads.values() for c in containers(workload).values() for each in c.env
    ]
    asked = {found for value in values for found in re.findall(r"://(?:\w+@)?(\w+):(\d+)", value)}
    assert asked == {("backend", "8001"), ("postgres", "5432"), ("redis", "6379")}
    assert all(ports[name] == int(port) for name, port in asked)


def test_a_workload_selects_its_own_pods_and_mounts_what_there_is(
    applied: list[Any], workloads: Mapping[str, Workload]
) -> None:
    claims = {each.metadata.name for each in applied if isinstance(each, Claim)}
    secrets = {each.metadata.name: set(each.string_data) for each in objects("secrets.template.yaml")}
    for name, workload in workloads.items():
        pod = workload.spec.template
        assert workload.spec.selector.match_labels == pod.metadata.labels == {"app": name}
        volumes = {each.name for each in pod.spec.volumes}
        if isinstance(workload, StatefulSet):
            volumes |= {each.metadata.name for each in workload.spec.volume_claim_templates}
        mounted = {mount.name for container in containers(workload).values() for mount in container.volume_mounts}
        assert mounted == volumes
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is not None:
                assert volume.persistent_volume_claim.claim_name in claims
            if volume.secret is not None:
                # Readable by the pod's group only.
                assert volume.secret.default_mode == 0o440
                assert {each.key for each in volume.secret.items} <= secrets[volume.secret.secret_name]


def test_volumes_are_mounted_where_compose_mounts_them(
    workloads: Mapping[str, Workload], compose: Mapping[str, Any]
) -> None:
    for workload in workloads.values():
        (container,) = workload.spec.template.spec.containers
        service = compose[container.name]
        theirs = {}
        for volume in service.get("volumes", ()):
            name, path, *options = volume.split(":")
            theirs[path] = (name, options == ["ro"])
        kept = {
            mount.mount_path: (mount.name, mount.read_only)
            for mount in container.volume_mounts
            if mount.mount_path.startswith("/var/lib/") or mount.mount_path == "/data"
        }
        assert kept == theirs
        # Of the passwords, each gets those that it gets in Compose.
        pod = workload.spec.template.spec
        secret = next((each.secret for each in pod.volumes if each.name == "passwords"), None)
        every = next(set(each.string_data) for each in objects("secrets.template.yaml"))
        seen = set() if secret is None else {each.key for each in secret.items} or every
        assert seen == set(service.get("secrets", ())) - (BROKER if container.name == "worker-gpu" else set())
        written = {mount.mount_path for mount in container.volume_mounts if not mount.read_only}
        assert {path.split(":")[0] for path in service["tmpfs"]} <= written


def test_pods_run_as_the_accounts_of_the_images(workloads: Mapping[str, Workload], compose: Mapping[str, Any]) -> None:
    for workload in workloads.values():
        pod = workload.spec.template.spec
        service = compose[pod.containers[0].name]
        if "build" in service:
            dockerfile = (ROOT / service["build"]["dockerfile"]).read_text()
            (account,) = re.findall(r"^USER (\S+)$", dockerfile, re.MULTILINE)
            # Arguments replace CMD; an ENTRYPOINT would stand before them.
            assert "ENTRYPOINT" not in dockerfile
        else:
            account = service["user"]
        assert f"{pod.security_context.run_as_user}:{pod.security_context.run_as_group}" == account
        assert pod.security_context.fs_group in (None, pod.security_context.run_as_group)
        assert all(each.security_context.capabilities.drop == ["ALL"] for each in containers(workload).values())
        grace = int(service["stop_grace_period"].removesuffix("s"))
        assert pod.termination_grace_period_seconds == grace


def test_a_worker_has_a_gpu_and_the_time_to_stop(workloads: Mapping[str, Workload]) -> None:
    worker = workloads["worker-gpu"]
    # A StatefulSet keeps name and folder over a restart.
    assert isinstance(worker, StatefulSet)
    assert (
        worker.spec.template.spec.termination_grace_period_seconds
        > WorkerSettings.model_fields["stop_limit_seconds"].default + REPORT_GRACE_SECONDS
    )
    assert containers(worker)["worker-gpu"].resources.limits["nvidia.com/gpu"] == 1


def test_databases_are_reached_by_those_who_reach_them_in_compose(
    applied: list[Any], compose: Mapping[str, Any]
) -> None:
    for policy in (each for each in applied if isinstance(each, NetworkPolicy)):
        name = policy.metadata.name
        networks = set(compose[name]["networks"])
        allowed = {peer.pod_selector.match_labels["app"] for rule in policy.spec.ingress for peer in rule.from_}
        others = set(compose) - {name, "migrate", "worker", "worker-gpu"}
        assert allowed == {other for other in others if networks & set(compose[other]["networks"])}
