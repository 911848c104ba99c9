from models.access import Action, ApiToken
from models.agents import Agent, Defect, DefectRevision, Observation
from models.assessments import Assessment, AssessmentChange, DefectSuite
from models.reviews import DiscoveryProtocol, ProtocolAgent, ProtocolDefect, ReviewClaim, TrialSuite
from models.suites import Attempt, Case, Suite, SuiteAgent
from models.trees import File, ImportWarning, Tree, TreeFile

__all__ = [
    "Action",
    "Agent",
    "ApiToken",
    "Assessment",
    "AssessmentChange",
    "Attempt",
    "Case",
    "Defect",
    "DefectRevision",
    "DefectSuite",
    "DiscoveryProtocol",
    "File",
    "ImportWarning",
    "Observation",
    "ProtocolAgent",
    "ProtocolDefect",
    "ReviewClaim",
    "Suite",
    "SuiteAgent",
    "Tree",
    "TreeFile",
    "TrialSuite",
]
