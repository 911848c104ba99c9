"""Objects of figures that more than one type shows."""

from engine.mapping import backed, column
from schema.enums import EvaluationEvidence, EvaluationSourceStatus, ReasonCode


@backed()
class Proportion:
    """value and the 95% Wilson interval are null where denominator is 0."""

    numerator: int
    denominator: int
    value: float | None
    lower: float | None
    upper: float | None


@backed()
class Warning:
    code: ReasonCode
    message: str
    agent_id: str | None
    suite_id: str | None
    assessment_index: int | None


@backed()
class EvaluationSource:
    status: EvaluationSourceStatus = column("source_status")
    sdk: str | None
    sdks: list[str]
    configured_sdk: str | None
    provider_modes: list[str]
    evidence: EvaluationEvidence
