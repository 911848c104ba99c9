"""What each reason says to a person, where the records alone decide it."""

from models.base import ReasonCode

MESSAGES: dict[ReasonCode, str] = {
    ReasonCode.UNAVAILABLE_SUITE: "The Suite cannot be read, so its records do not count until it can be again.",
    ReasonCode.AMBIGUOUS_SUITE: "More than one directory claims this Suite, so none of its records counts.",
    ReasonCode.CONFLICTING_ASSESSMENTS: "Another record decides the same Attempt and defect differently.",
    ReasonCode.UNKNOWN_DEFECT: "No valid manifest of this agent holds a current defect of this id.",
    ReasonCode.STALE_REVISION: "The record is bound to another revision of the defect than the current one.",
    ReasonCode.INVALID_FIELD: "A field of the record is missing or has the wrong form.",
    ReasonCode.INVALID_DECISION: "A judge_detected of true needs a case_reproduced of true.",
    ReasonCode.NO_PROVENANCE: "The Suite has no plan, so nothing ties its results to a source.",
    ReasonCode.UNKNOWN_AGENT: "The Suite's plan does not name this agent.",
    ReasonCode.SOURCE_MISMATCH: "The Suite ran another source of the agent than the one the defect was confirmed on.",
    ReasonCode.UNKNOWN_CASE_SLOT: "The Suite has no Case at this index of the agent.",
    ReasonCode.CASE_DIGEST_MISMATCH: "The record is bound to another Case than the one the Suite prepared here.",
    ReasonCode.PATH_ESCAPE: "The Case artifact lies outside the Suite's directory.",
    ReasonCode.FILE_UNAVAILABLE: "The Case artifact cannot be read.",
    ReasonCode.FILE_TOO_LARGE: "The Case artifact is larger than 64 MiB.",
    ReasonCode.NOT_A_REGULAR_FILE: "The Case artifact is not a regular file.",
    ReasonCode.CASE_ARTIFACT_MISMATCH: "The Case artifact was changed after the Suite prepared it.",
    ReasonCode.UNKNOWN_ATTEMPT: "The Case has no Attempt of this id.",
    ReasonCode.RESULT_DIGEST_MISMATCH: "The record is bound to another result than the one saved for this Attempt.",
    ReasonCode.EXECUTION_ERROR: "The Attempt carries an error.",
    ReasonCode.EVIDENCE_REJECTED: "The host rejected the evidence of this Attempt.",
    ReasonCode.EVIDENCE_INVALID: "The evidence of this Attempt is missing or failed its validation.",
    ReasonCode.EXECUTION_INCOMPLETE: "The Attempt did not complete, so nothing can be decided about it yet.",
    ReasonCode.REPORT_MISSING: "The Attempt has no saved Judge report that could have detected anything.",
}
