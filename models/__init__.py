from models.access import Action, ApiToken
from models.agents import Agent, Defect, DefectRevision, Observation
from models.assessments import Assessment, AssessmentChange, DefectSuite
from models.benchmarks import (
    Benchmark,
    BenchmarkField,
    BenchmarkRow,
    Cell,
    ExpectedRevision,
    ExpectedValue,
    IdempotencyKey,
    LanguageModel,
    RowFile,
    Track,
)
from models.changes import BenchmarkChange
from models.reviews import DiscoveryProtocol, ProtocolAgent, ProtocolDefect, ReviewClaim, TrialSuite
from models.suites import Attempt, Case, Suite, SuiteAgent, SuiteFile
from models.trees import File, ImportWarning, Tree, TreeFile

__all__ = [
    "Action",
    "Agent",
    "ApiToken",
    "Assessment",
    "AssessmentChange",
    "Attempt",
    "Benchmark",
    "BenchmarkChange",
    "BenchmarkField",
    "BenchmarkRow",
    "Case",
    "Cell",
    "Defect",
    "DefectRevision",
    "DefectSuite",
    "DiscoveryProtocol",
    "ExpectedRevision",
    "ExpectedValue",
    "File",
    "IdempotencyKey",
    "ImportWarning",
    "LanguageModel",
    "Observation",
    "ProtocolAgent",
    "ProtocolDefect",
    "ReviewClaim",
    "RowFile",
    "Suite",
    "SuiteAgent",
    "SuiteFile",
    "Track",
    "Tree",
    "TreeFile",
    "TrialSuite",
]
