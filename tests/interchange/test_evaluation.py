from typing import Any

import pytest

from interchange.evaluation import evaluation_source
from models.base import EvaluationEvidence as Evidence
from models.base import EvaluationSourceStatus as Status

KUMA, LOCAL = "official-container", "local-container"


@pytest.mark.parametrize(
    ("configured", "slots", "status", "sdks", "evaluator"),
    [
        (None, [], Status.NOT_RECORDED, [], "@not_recorded"),
        (None, [[]], Status.NOT_RECORDED, [], "@not_recorded"),
        (None, [["elsewhere"]], Status.NOT_RECORDED, [], "@not_recorded"),
        (None, [[KUMA], [KUMA]], Status.RECORDED, ["kuma"], "kuma"),
        (None, [[KUMA], [LOCAL]], Status.MIXED, ["kuma", "local"], "@mixed"),
        (None, [[LOCAL], []], Status.PARTIAL, ["local"], "@partial"),
        (None, [[LOCAL, None]], Status.PARTIAL, ["local"], "@partial"),
        (None, [[LOCAL, "elsewhere"]], Status.PARTIAL, ["local"], "@partial"),
        ("local", [[LOCAL], []], Status.RECORDED, ["local"], "local"),
        ("local", [[KUMA]], Status.MIXED, ["kuma", "local"], "@mixed"),
        ("kuma", [], Status.RECORDED, ["kuma"], "kuma"),
        ("custom.sdk", [[KUMA], [LOCAL]], Status.RECORDED, ["custom.sdk"], "custom.sdk"),
        ("not an identity", [[KUMA]], Status.RECORDED, ["kuma"], "kuma"),
        ("x" * 121, [], Status.NOT_RECORDED, [], "@not_recorded"),
        (["kuma"], [[["kuma"]]], Status.NOT_RECORDED, [], "@not_recorded"),
    ],
)
def test_the_source_is_what_plan_and_results_agree_on(
    configured: Any, slots: list[list[Any]], status: Status, sdks: list[str], evaluator: str
) -> None:
    source = evaluation_source(configured, slots)

    assert (source.status, source.sdks, source.evaluator) == (status, sdks, evaluator)
    assert source.sdk == (sdks[0] if len(sdks) == 1 else None)


@pytest.mark.parametrize(
    ("configured", "slots", "evidence"),
    [
        (None, [], Evidence.NONE),
        ("kuma", [[]], Evidence.PLAN),
        (None, [[KUMA]], Evidence.RESULTS),
        ("custom", [[KUMA]], Evidence.PLAN_AND_RESULTS),
    ],
)
def test_the_evidence_names_where_it_was_found(
    configured: str | None, slots: list[list[str]], evidence: Evidence
) -> None:
    assert evaluation_source(configured, slots).evidence is evidence


def test_modes_are_told_once_each_whether_known_or_not() -> None:
    assert evaluation_source(None, [["b", "a"], ["a", None, "no mode"]]).provider_modes == ["a", "b"]
