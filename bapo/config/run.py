"""The complete config of a run, as `bapo train`, REST and the form accept it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import (
    Field,
    PlainValidator,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from bapo.config.engine import EngineConfig
from bapo.config.errors import ConfigProblem, broken_rule
from bapo.config.method import METHODS, ActorCritic, CriticConfig, MethodSection
from bapo.config.objective import LengthPenalty, Objective
from bapo.config.registry import Registry
from bapo.config.resources import Needs, ResourcesConfig, gpus_used, needs
from bapo.config.section import Section
from bapo.config.sections import (
    MAX_SEGMENTS,
    EvaluationConfig,
    LossConfig,
    ModelConfig,
    RolloutConfig,
    SamplesConfig,
    TrackingConfig,
    TrainingConfig,
)
from bapo.config.task import TASKS, CountdownTaskConfig, TaskSection
from bapo.config.warm_start import WarmStartConfig

REGISTRIES: Mapping[str, Registry[Any]] = {each.section: each for each in (METHODS, TASKS)}
"""Sections that have several classes, selected by `type`."""


class RunConfig(Section):
    """Everything that determines a run."""

    model: ModelConfig = ModelConfig()
    """The base model."""
    task: Annotated[SerializeAsAny[TaskSection], PlainValidator(TASKS.validate)] = CountdownTaskConfig()
    """Problems and their verifier; setting `type` replaces the section by that type's defaults."""
    method: Annotated[SerializeAsAny[MethodSection], PlainValidator(METHODS.validate)] = Field(
        default_factory=METHODS.default_section
    )
    """The algorithm; setting `type` replaces the section by that method's defaults."""
    rollout: RolloutConfig = RolloutConfig()
    """Generation of responses."""
    training: TrainingConfig = TrainingConfig()
    """The optimizer, the length of the run and its checkpoints."""
    warm_start: WarmStartConfig = WarmStartConfig()
    """Supervised training before the first step."""
    loss: LossConfig = LossConfig()
    """The objective."""
    tracking: TrackingConfig = TrackingConfig()
    """Difficulty tracking."""
    evaluation: EvaluationConfig = EvaluationConfig()
    """Held-out evaluation."""
    samples: SamplesConfig = SamplesConfig()
    """Responses kept as text."""
    engine: EngineConfig = EngineConfig()
    """The engine that trains."""
    resources: ResourcesConfig = ResourcesConfig()
    """Requirements on the machine that trains the run."""

    @field_validator(*REGISTRIES, mode="before")
    @classmethod
    def _has_a_type(cls, given: Any, info: ValidationInfo) -> Any:
        registry = REGISTRIES[str(info.field_name)]
        return {"type": registry.default.type_name(), **given} if isinstance(given, Mapping) else given

    @model_validator(mode="after")
    def _length_given_once(self) -> Self:
        if (self.training.steps is None) == (self.training.epochs is None):
            raise broken_rule(
                "training.steps",
                "give exactly one of training.steps and training.epochs: set one, leave the other empty",
            )
        return self

    @model_validator(mode="after")
    def _method_fits(self) -> Self:
        self.method.check(self)
        return self

    @model_validator(mode="after")
    def _weights_take_effect(self) -> Self:
        if self.method.chooses_prompts and self.task.weights:
            raise broken_rule(
                "task.prompt_weights",
                f"{self.method.label} selects prompts itself and ignores weights: "
                "use only the weights 0 and 1, or another method",
            )
        return self

    @model_validator(mode="after")
    def _prompts_are_known_ahead(self) -> Self:
        if self.rollout.ahead != "off" and not self.method.knows_prompts_ahead:
            raise broken_rule(
                "rollout.ahead",
                f"{self.method.label} has no prompts that are known ahead for one rollout policy: choose off, or a "
                "method with a rollout sync interval v that follows the schedule, such as bapo",
            )
        if self.rollout.ahead == "overlap" and self.engine.type != "local":
            raise broken_rule(
                "rollout.ahead", f"{self.engine.type} cannot generate while it trains: choose window or off"
            )
        return self

    @model_validator(mode="after")
    def _segments_fit(self) -> Self:
        rollout, method = self.rollout, self.method
        if rollout.max_segment_tokens is None:
            return self
        least, longest = math.ceil(rollout.max_response_tokens / MAX_SEGMENTS), rollout.max_response_tokens
        if not least <= rollout.max_segment_tokens <= longest:
            remedy = (
                f"a response of {longest} tokens (rollout.max_response_tokens) is generated in at most {MAX_SEGMENTS} "
                f"segments: give {least} to {longest}, or leave it empty"
            )
        elif method.has_rounds or method.is_unmeasured:
            remedy = (
                f"{method.label} needs all answers to its prompts in the step that asks: leave it empty, or choose "
                "another method, such as bapo"
            )
        elif rollout.ahead != "off":
            remedy = f"rollout.ahead = {rollout.ahead} needs whole responses: set it to off, or leave this empty"
        elif self.engine.type != "local":
            remedy = "only the local engine continues unfinished responses: leave it empty, or set engine.type to local"
        else:
            return self
        raise broken_rule("rollout.max_segment_tokens", remedy)

    @model_validator(mode="after")
    def _repetitions_are_recognised(self) -> Self:
        rollout = self.rollout
        if rollout.repetition_tokens is None:
            return self
        if rollout.repetition_tokens < rollout.repetition_count:
            remedy = (
                f"{rollout.repetition_count} repetitions (rollout.repetition_count) are at least as many tokens: give "
                f"{rollout.repetition_count} or more"
            )
        elif self.engine.type != "local":
            remedy = "only the local engine recognises repetitions: leave it empty, or set engine.type to local"
        else:
            return self
        raise broken_rule("rollout.repetition_tokens", remedy)

    @model_validator(mode="after")
    def _reserved_gpus_suffice(self) -> Self:
        given, engine = self.resources.gpus, self.engine
        # With `auto` the local engine trains on the CPU where it is given no GPU.
        used = 0 if engine.type == "local" and engine.device == "auto" else gpus_used(engine)
        if given is not None and given < used:
            raise broken_rule("resources.gpus", f"the engine uses {used} GPUs: reserve as many, or leave it empty")
        return self

    @model_serializer(mode="wrap")
    def _known_fields(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Serialise only the known fields of another trainer's run: our defaults are no facts about it."""
        complete: dict[str, Any] = dump(self)
        if self.method.is_trainable:
            return complete
        known = {name: getattr(self, name).model_fields_set for name in complete.keys() & self.model_fields_set}
        known["method"] = set(complete["method"])
        return {
            name: {field: value for field, value in section.items() if field in known[name]}
            for name, section in complete.items()
            if known.get(name)
        }

    @property
    def needs(self) -> Needs:
        """Resources that a machine must have free for the run."""
        return needs(self.engine, self.resources)

    @property
    def begins_warm(self) -> bool:
        """True if a warm start comes before the first step; a probe measures the base model itself."""
        return self.warm_start.steps > 0 and not self.method.is_unmeasured

    @property
    def warnings(self) -> Sequence[ConfigProblem]:
        """Notes on what is legal but probably a mistake."""
        return (*self.method.warnings(self), *self._segment_warnings())

    def _segment_warnings(self) -> Iterable[ConfigProblem]:
        """Say how the schedule differs from that of the method's paper."""
        rollout = self.rollout
        if rollout.max_segment_tokens is not None:
            num_segments = math.ceil(rollout.max_response_tokens / rollout.max_segment_tokens)
            yield ConfigProblem(
                "rollout.max_segment_tokens",
                rollout.max_segment_tokens,
                "partial rollouts are another schedule than the method's own: a step trains on the groups whose last "
                f"response ends in it, and a response may have been begun up to {num_segments - 1} steps earlier, by "
                "older weights",
            )

    @property
    def critic(self) -> CriticConfig | None:
        """The value model of a method that has one."""
        return self.method.critic if isinstance(self.method, ActorCritic) else None

    @property
    def objective(self) -> Objective:
        """The loss in force, with the method's own values where the config leaves them to it."""
        loss, method = self.loss, self.method
        clip_low, clip_high = method.clip_range
        return Objective(
            surrogate=method.surrogate(
                clip_low=clip_low if loss.clip_low is None else loss.clip_low,
                clip_high=clip_high if loss.clip_high is None else loss.clip_high,
                dual_clip=loss.dual_clip,
            ),
            kl_coefficient=loss.kl_coefficient,
            kl_estimator=loss.kl_estimator,
            kl_reference_share=(
                method.kl_reference_share() if loss.kl_to == "auto" else float(loss.kl_to == "reference")
            ),
            entropy_coefficient=loss.entropy_coefficient,
            aggregation=method.aggregation if loss.aggregation == "auto" else loss.aggregation,
            ratio_level=method.ratio_level if loss.ratio_level == "auto" else loss.ratio_level,
            sample_deviation=method.sample_deviation,
            demonstration_shaping=method.demonstration_shaping(),
            drops_overlong=loss.drops_overlong,
        )

    @property
    def length_penalty(self) -> LengthPenalty | None:
        """The penalty on long responses; None if there is none."""
        return self.method.length_penalty(self.rollout.max_response_tokens)
