"""Which SDK evaluated a Suite, by its plan and by its results."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from interchange.records import EvaluationSourceRecord
from models.base import EvaluationEvidence, EvaluationSourceStatus

_IDENTITY = re.compile(r"[A-Za-z0-9_.:-]{1,120}")
_SDKS = {"official-container": "kuma", "local-container": "local"}
# Only these two leave their mark on results, so any other that a plan configures is taken at its word.
_RECOGNISED = frozenset(_SDKS.values())


def evaluation_source(configured: Any, slots: Iterable[Sequence[Any]]) -> EvaluationSourceRecord:
    """`slots` holds, slot by slot, the provider mode of each saved result, whatever was written there."""
    sdk = _identity(configured)
    modes: set[str | None] = set()
    is_known_of_all = True
    for slot in slots:
        found = {_identity(mode) for mode in slot}
        # A slot without a result leaves open who would have evaluated it.
        is_known_of_all &= bool(found) and found <= _SDKS.keys()
        modes |= found
    observed = {_SDKS[mode] for mode in modes if mode in _SDKS}
    sdks = sorted({sdk} if sdk and sdk not in _RECOGNISED else {*observed, *([sdk] if sdk else [])})
    status = _status(sdks, sdk is not None, is_known_of_all)
    single = sdks[0] if len(sdks) == 1 else None
    known_modes = sorted(mode for mode in modes if mode)
    return EvaluationSourceRecord(
        status=status,
        sdk=single,
        sdks=sdks,
        configured_sdk=sdk,
        provider_modes=known_modes,
        evidence=_evidence(sdk is not None, bool(known_modes)),
        evaluator=single if single and status is EvaluationSourceStatus.RECORDED else f"@{status.lower()}",
    )


def _identity(value: Any) -> str | None:
    return value if isinstance(value, str) and _IDENTITY.fullmatch(value) else None


def _status(sdks: list[str], is_configured: bool, is_known_of_all: bool) -> EvaluationSourceStatus:
    if len(sdks) > 1:
        return EvaluationSourceStatus.MIXED
    if not sdks:
        return EvaluationSourceStatus.NOT_RECORDED
    if not is_configured and not is_known_of_all:
        return EvaluationSourceStatus.PARTIAL
    return EvaluationSourceStatus.RECORDED


def _evidence(in_plan: bool, in_results: bool) -> EvaluationEvidence:
    if in_plan and in_results:
        return EvaluationEvidence.PLAN_AND_RESULTS
    if in_plan:
        return EvaluationEvidence.PLAN
    return EvaluationEvidence.RESULTS if in_results else EvaluationEvidence.NONE
