"""Records: every number that a run writes into its journal, named and described once."""

from bapo.records.base import OBSERVED_SCHEMA, RATIO_BIN_EDGES, SCHEMA, BySource, Counts, Figures, Record
from bapo.records.journal import (
    AnyRecord,
    EvaluationRecord,
    EventRecord,
    Interval,
    TrackingRecord,
    comparable,
    dump_record,
    parse_record,
    read_record,
)
from bapo.records.metric import DeclaredMetric, Metric, declared_metrics
from bapo.records.metric_names import metrics
from bapo.records.samples import PromptRecord, SampledResponse, SampleRecord
from bapo.records.spans import Span, recorded_spans
from bapo.records.step import BufferState, Cost, Rewards, SegmentStats, SourceCounts, StepRecord, ThresholdValues
from bapo.records.update import (
    BoundTerms,
    CriticStats,
    DemonstrationStats,
    LogprobGap,
    SupervisedStats,
    UpdateStats,
    effective_sample_share,
)
from bapo.records.visits import PromptVisit, PromptVisits, visit_columns

__all__ = [
    "OBSERVED_SCHEMA",
    "RATIO_BIN_EDGES",
    "SCHEMA",
    "AnyRecord",
    "BoundTerms",
    "BufferState",
    "BySource",
    "Cost",
    "Counts",
    "CriticStats",
    "DeclaredMetric",
    "DemonstrationStats",
    "EvaluationRecord",
    "EventRecord",
    "Figures",
    "Interval",
    "LogprobGap",
    "Metric",
    "PromptRecord",
    "PromptVisit",
    "PromptVisits",
    "Record",
    "Rewards",
    "SampleRecord",
    "SampledResponse",
    "SegmentStats",
    "SourceCounts",
    "Span",
    "StepRecord",
    "SupervisedStats",
    "ThresholdValues",
    "TrackingRecord",
    "UpdateStats",
    "comparable",
    "declared_metrics",
    "dump_record",
    "effective_sample_share",
    "metrics",
    "parse_record",
    "read_record",
    "recorded_spans",
    "visit_columns",
]
