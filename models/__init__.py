from models.agents import Agent, Defect, DefectRevision, Observation
from models.assessments import Assessment, AssessmentChange, DefectSuite
from models.suites import Attempt, Case, Suite, SuiteAgent
from models.trees import File, ImportWarning, Tree, TreeFile

__all__ = [
    "Agent",
    "Assessment",
    "AssessmentChange",
    "Attempt",
    "Case",
    "Defect",
    "DefectRevision",
    "DefectSuite",
    "File",
    "ImportWarning",
    "Observation",
    "Suite",
    "SuiteAgent",
    "Tree",
    "TreeFile",
]
