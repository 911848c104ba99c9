"""The closed vocabularies as the graph shows them."""

import strawberry

from models.base import (
    AssessmentStatus,
    DefectStatus,
    EvaluationEvidence,
    EvaluationSourceStatus,
    GroundTruthStatus,
    Keeper,
    Provenance,
    ReasonCode,
    Role,
    SuiteState,
)

__all__ = [
    "AssessmentStatus",
    "DefectStatus",
    "EvaluationEvidence",
    "EvaluationSourceStatus",
    "GroundTruthStatus",
    "Keeper",
    "Provenance",
    "ReasonCode",
    "Role",
    "SuiteState",
]

for vocabulary in (
    AssessmentStatus,
    DefectStatus,
    EvaluationEvidence,
    EvaluationSourceStatus,
    GroundTruthStatus,
    Provenance,
    ReasonCode,
    Role,
    SuiteState,
):
    strawberry.enum(vocabulary)

strawberry.enum(
    Keeper, description="Who keeps a record: this API, or a project tree, which alone changes what it brought."
)
