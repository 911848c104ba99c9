"""What every table shares: the naming of constraints, and the closed vocabularies that columns hold."""

from enum import StrEnum
from typing import Any, cast

from sqlalchemy import BigInteger, CheckConstraint, Enum, Identity, Table
from sqlalchemy.types import UserDefinedType
from sqlmodel import Field, SQLModel

SQLModel.metadata.naming_convention = {
    "pk": "%(table_name)s_pkey",
    "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    "uq": "%(table_name)s_%(column_0_N_name)s_key",
    "ck": "%(table_name)s_%(constraint_name)s_check",
    "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
}


class Keeper(StrEnum):
    API = "API"
    TREE = "TREE"


class ManifestState(StrEnum):
    MISSING = "MISSING"
    VALID = "VALID"
    INVALID = "INVALID"


class SuiteState(StrEnum):
    PLANNED = "PLANNED"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    INTERRUPTED = "INTERRUPTED"


class Provenance(StrEnum):
    CANONICAL = "CANONICAL"
    LEGACY = "LEGACY"


class EvaluationSourceStatus(StrEnum):
    RECORDED = "RECORDED"
    PARTIAL = "PARTIAL"
    MIXED = "MIXED"
    NOT_RECORDED = "NOT_RECORDED"


class EvaluationEvidence(StrEnum):
    PLAN = "PLAN"
    RESULTS = "RESULTS"
    PLAN_AND_RESULTS = "PLAN_AND_RESULTS"
    NONE = "NONE"


class AssessmentStatus(StrEnum):
    ACCEPTED = "ACCEPTED"
    REFUSED = "REFUSED"
    WITHDRAWN = "WITHDRAWN"


class GroundTruthStatus(StrEnum):
    NOT_CONFIGURED = "NOT_CONFIGURED"
    EMPTY = "EMPTY"
    NOT_ASSESSED = "NOT_ASSESSED"
    PARTIALLY_ASSESSED = "PARTIALLY_ASSESSED"
    ASSESSED = "ASSESSED"
    INVALID = "INVALID"


class DefectStatus(StrEnum):
    NOT_ASSESSED = "NOT_ASSESSED"
    PARTIALLY_ASSESSED = "PARTIALLY_ASSESSED"
    NOT_DISCOVERED = "NOT_DISCOVERED"
    DISCOVERED = "DISCOVERED"


class AgentKind(StrEnum):
    CONVERSATION = "CONVERSATION"
    AUTOMATION = "AUTOMATION"


class Origin(StrEnum):
    EMPTY = "EMPTY"
    AUTO = "AUTO"
    MANUAL = "MANUAL"
    MIXED = "MIXED"


class CellStatus(StrEnum):
    EMPTY = "EMPTY"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"


class CellErrorKind(StrEnum):
    RATE_LIMITED = "RATE_LIMITED"
    TIMEOUT = "TIMEOUT"
    PROVIDER = "PROVIDER"
    INVALID_OUTPUT = "INVALID_OUTPUT"
    EXTERNAL = "EXTERNAL"
    INTERNAL = "INTERNAL"


class FieldType(StrEnum):
    STRING = "STRING"
    NUMBER = "NUMBER"
    BOOLEAN = "BOOLEAN"
    DATE = "DATE"
    LIST = "LIST"
    OBJECT = "OBJECT"


class ExpectedOutputChange(StrEnum):
    CAPTURED = "CAPTURED"
    RECAPTURED = "RECAPTURED"
    EDITED = "EDITED"
    CLEARED = "CLEARED"
    UNLOCKED = "UNLOCKED"
    IMPORTED = "IMPORTED"


class ExistingGroundTruth(StrEnum):
    """What becomes of captured values when another track becomes their source."""

    RECAPTURE = "RECAPTURE"
    KEEP = "KEEP"


class MetricKind(StrEnum):
    EXACT_MATCH = "EXACT_MATCH"
    NORMALIZED_MATCH = "NORMALIZED_MATCH"
    CONTAINS = "CONTAINS"
    REGEX = "REGEX"
    EDIT_SIMILARITY = "EDIT_SIMILARITY"
    TOKEN_F1 = "TOKEN_F1"  # noqa: S105
    ROUGE_L = "ROUGE_L"
    SEMANTIC_SIMILARITY = "SEMANTIC_SIMILARITY"
    NUMERIC_CLOSENESS = "NUMERIC_CLOSENESS"
    FIELD_ACCURACY = "FIELD_ACCURACY"
    JSON_VALID = "JSON_VALID"
    LLM_JUDGE = "LLM_JUDGE"
    LATENCY = "LATENCY"
    TOKENS = "TOKENS"
    COST = "COST"


class ScoreType(StrEnum):
    NUMBER = "NUMBER"
    BOOLEAN = "BOOLEAN"
    TEXT = "TEXT"


class Aggregation(StrEnum):
    AVERAGE = "AVERAGE"
    COUNT_TRUE = "COUNT_TRUE"


class ScoreStatus(StrEnum):
    SCORED = "SCORED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"


class RunStatus(StrEnum):
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class GenerationScope(StrEnum):
    ALL = "ALL"
    SELECTED = "SELECTED"
    EMPTY_AND_FAILED = "EMPTY_AND_FAILED"


class EvaluationScope(StrEnum):
    ALL = "ALL"
    SELECTED = "SELECTED"
    MISSING = "MISSING"
    STALE = "STALE"


class RunItemStatus(StrEnum):
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    OUT_OF_BUDGET = "OUT_OF_BUDGET"


class RunStage(StrEnum):
    """WAIT: for the other generations of the row, so that what is scored is compared with what they leave."""

    GENERATE = "GENERATE"
    WAIT = "WAIT"
    EVALUATE = "EVALUATE"


class Role(StrEnum):
    """In rising order: each may do what those before it may."""

    VIEWER = "VIEWER"
    REVIEWER = "REVIEWER"
    OPERATOR = "OPERATOR"
    ADMIN = "ADMIN"


class ReasonCode(StrEnum):
    REGISTRY_INVALID = "REGISTRY_INVALID"
    DUPLICATE_AGENT = "DUPLICATE_AGENT"
    PATH_ESCAPE = "PATH_ESCAPE"
    AGENT_TOML_INVALID = "AGENT_TOML_INVALID"
    AGENT_IDENTITY_MISMATCH = "AGENT_IDENTITY_MISMATCH"
    UNSUPPORTED_SCHEMA = "UNSUPPORTED_SCHEMA"
    DUPLICATE_DEFECT = "DUPLICATE_DEFECT"
    DUPLICATE_OBSERVATION = "DUPLICATE_OBSERVATION"
    OBSERVATION_CASE_MISMATCH = "OBSERVATION_CASE_MISMATCH"
    DUPLICATE_EVIDENCE = "DUPLICATE_EVIDENCE"
    EVIDENCE_DIGEST_MISMATCH = "EVIDENCE_DIGEST_MISMATCH"
    TOO_FEW_OBSERVATIONS = "TOO_FEW_OBSERVATIONS"
    FILE_UNAVAILABLE = "FILE_UNAVAILABLE"
    FILE_TOO_LARGE = "FILE_TOO_LARGE"
    NOT_A_REGULAR_FILE = "NOT_A_REGULAR_FILE"
    INVALID_JSON = "INVALID_JSON"
    INVALID_FIELD = "INVALID_FIELD"
    SUITE_IDENTITY_MISMATCH = "SUITE_IDENTITY_MISMATCH"
    UNAVAILABLE_SUITE = "UNAVAILABLE_SUITE"
    AMBIGUOUS_SUITE = "AMBIGUOUS_SUITE"
    UNKNOWN_DEFECT = "UNKNOWN_DEFECT"
    UNKNOWN_AGENT = "UNKNOWN_AGENT"
    UNKNOWN_CASE_SLOT = "UNKNOWN_CASE_SLOT"
    UNKNOWN_ATTEMPT = "UNKNOWN_ATTEMPT"
    STALE_REVISION = "STALE_REVISION"
    INVALID_DECISION = "INVALID_DECISION"
    NO_PROVENANCE = "NO_PROVENANCE"
    SOURCE_MISMATCH = "SOURCE_MISMATCH"
    CASE_DIGEST_MISMATCH = "CASE_DIGEST_MISMATCH"
    CASE_ARTIFACT_MISMATCH = "CASE_ARTIFACT_MISMATCH"
    RESULT_DIGEST_MISMATCH = "RESULT_DIGEST_MISMATCH"
    EXECUTION_ERROR = "EXECUTION_ERROR"
    EXECUTION_INCOMPLETE = "EXECUTION_INCOMPLETE"
    EVIDENCE_REJECTED = "EVIDENCE_REJECTED"
    EVIDENCE_INVALID = "EVIDENCE_INVALID"
    REPORT_MISSING = "REPORT_MISSING"
    CONFLICTING_ASSESSMENTS = "CONFLICTING_ASSESSMENTS"
    TREE_OWNED = "TREE_OWNED"
    API_OWNED = "API_OWNED"
    UNKNOWN_SUITE = "UNKNOWN_SUITE"
    ARCHIVE_INVALID = "ARCHIVE_INVALID"
    TOO_MANY_FILES = "TOO_MANY_FILES"
    REVIEW_CLAIMED = "REVIEW_CLAIMED"
    SUITE_BEFORE_FREEZE = "SUITE_BEFORE_FREEZE"
    SUITE_USED = "SUITE_USED"
    EVALUATOR_UNSUITABLE = "EVALUATOR_UNSUITABLE"


class JsonText(UserDefinedType[str]):
    """A `json` column read and written as its text: its spelling, NUL escapes included, is part of the value."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "JSON"


def vocabulary(words: type[StrEnum], name: str) -> Enum:
    """A closed set of words as checked text: readable in psql, and altered like any other constraint."""
    return Enum(words, name=name, native_enum=False, create_constraint=True, validate_strings=True, length=32)


def identity() -> Any:
    """A key that Postgres counts up, so that the order of keys is the order of creation."""
    return Field(default=None, primary_key=True, sa_type=BigInteger, sa_column_args=(Identity(),))


def reference(target: str, **options: Any) -> Any:
    """A reference to the identity of another table, as `table.column`."""
    return Field(foreign_key=target, sa_type=BigInteger, **options)


def digests(*columns: str) -> tuple[CheckConstraint, ...]:
    """These columns hold 64 lowercase hexadecimal characters, or nothing."""
    return tuple(CheckConstraint(f"{column} ~ '^[0-9a-f]{{64}}$'", name=column) for column in columns)


def table(model: type[SQLModel]) -> Table:
    """The table behind a model, for statements that are built from columns."""
    return cast(Table, vars(model)["__table__"])
