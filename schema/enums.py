"""The closed vocabularies as the graph shows them."""

import strawberry

from models.base import (
    AgentKind,
    AssessmentStatus,
    CellErrorKind,
    CellStatus,
    DefectStatus,
    EvaluationEvidence,
    EvaluationSourceStatus,
    ExistingGroundTruth,
    ExpectedOutputChange,
    FieldType,
    GroundTruthStatus,
    Keeper,
    Origin,
    Provenance,
    ReasonCode,
    Role,
    SuiteState,
)
from resolvers.row_files import RowFormat

__all__ = [
    "AgentKind",
    "AssessmentStatus",
    "CellErrorKind",
    "CellStatus",
    "DefectStatus",
    "EvaluationEvidence",
    "EvaluationSourceStatus",
    "ExistingGroundTruth",
    "ExpectedOutputChange",
    "FieldType",
    "GroundTruthStatus",
    "Keeper",
    "Origin",
    "Provenance",
    "ReasonCode",
    "Role",
    "RowFormat",
    "SuiteState",
]

for vocabulary in (
    ExistingGroundTruth,
    Origin,
    FieldType,
    ExpectedOutputChange,
    CellErrorKind,
    AgentKind,
    AssessmentStatus,
    DefectStatus,
    EvaluationEvidence,
    EvaluationSourceStatus,
    GroundTruthStatus,
    Provenance,
    ReasonCode,
    Role,
    RowFormat,
    SuiteState,
):
    strawberry.enum(vocabulary)

strawberry.enum(
    Keeper, description="Who keeps a record: this API, or a project tree, which alone changes what it brought."
)
strawberry.enum(CellStatus, description="The stored result. What a run is doing to the cell stands in `pending`.")
