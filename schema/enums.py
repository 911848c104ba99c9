"""The closed vocabularies as the graph shows them."""

import strawberry

from models.base import (
    AgentKind,
    Aggregation,
    AssessmentStatus,
    CellErrorKind,
    CellStatus,
    DefectStatus,
    EvaluationEvidence,
    EvaluationScope,
    EvaluationSourceStatus,
    ExistingGroundTruth,
    ExpectedOutputChange,
    FieldType,
    GenerationScope,
    GroundTruthStatus,
    Keeper,
    MetricKind,
    Origin,
    Provenance,
    ReasonCode,
    Role,
    RunItemStatus,
    RunStatus,
    ScoreStatus,
    ScoreType,
    SuiteState,
)
from resolvers.row_files import RowFormat

__all__ = [
    "AgentKind",
    "Aggregation",
    "AssessmentStatus",
    "CellErrorKind",
    "CellStatus",
    "DefectStatus",
    "EvaluationEvidence",
    "EvaluationScope",
    "EvaluationSourceStatus",
    "ExistingGroundTruth",
    "ExpectedOutputChange",
    "FieldType",
    "GenerationScope",
    "GroundTruthStatus",
    "Keeper",
    "MetricKind",
    "Origin",
    "Provenance",
    "ReasonCode",
    "Role",
    "RowFormat",
    "RunItemStatus",
    "RunStatus",
    "ScoreStatus",
    "ScoreType",
    "SuiteState",
]

for vocabulary in (
    AgentKind,
    Aggregation,
    AssessmentStatus,
    CellErrorKind,
    DefectStatus,
    EvaluationEvidence,
    EvaluationScope,
    EvaluationSourceStatus,
    ExistingGroundTruth,
    ExpectedOutputChange,
    FieldType,
    GenerationScope,
    GroundTruthStatus,
    MetricKind,
    Origin,
    Provenance,
    ReasonCode,
    Role,
    RowFormat,
    RunItemStatus,
    RunStatus,
    ScoreStatus,
    ScoreType,
    SuiteState,
):
    strawberry.enum(vocabulary)

strawberry.enum(
    Keeper, description="Who keeps a record: this API, or a project tree, which alone changes what it brought."
)
strawberry.enum(CellStatus, description="The stored result. What a run is doing to the cell stands in `pending`.")
