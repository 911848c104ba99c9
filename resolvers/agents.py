"""The state of an agent's ground truth, and its manifest as a document."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Float,
    FromClause,
    Select,
    Text,
    and_,
    case,
    cast,
    func,
    literal,
    or_,
    select,
)

from models import Agent, Defect, DefectRevision, DefectSuite
from models.base import GroundTruthStatus, JsonText, ManifestState, table
from resolvers.defects import SUMS, decided
from resolvers.judgement import current
from resolvers.sql import total, url_segment

MANIFEST_SCHEMA = "abb.agent.ground_truth.v1"

agents = table(Agent)


def known(agent: FromClause) -> ColumnElement[bool]:
    """Not retired, and of a tree whose registry can be read."""
    return and_(agent.c.retired_at.is_(None), agent.c.listed)


def tallies(sums: FromClause) -> dict[str, ColumnElement[Any]]:
    """Counts over defects, each a row of its sums."""
    return {
        "defect_count": func.count(sums.c.defect_pk),
        "assessed_defect_count": func.count().filter(sums.c.complete > 0),
        "case_reproduced_count": func.count().filter(sums.c.reproduced > 0),
        "discovered_defect_count": func.count().filter(sums.c.detected > 0),
        "assessment_count": total(sums.c.accepted),
        "decided": func.coalesce(func.bool_or(decided(sums)), False),
        "judged": total(sums.c.judged),
        "recalled": total(sums.c.recalled),
    }


def status(
    tally: Mapping[str, ColumnElement[Any]], invalid: ColumnElement[bool], configured: ColumnElement[bool]
) -> ColumnElement[str]:
    """What counts over defects say; `invalid` and `configured` tell what it means that there are none."""
    return case(
        (and_(tally["defect_count"] == 0, invalid), GroundTruthStatus.INVALID),
        (and_(tally["defect_count"] == 0, configured), GroundTruthStatus.EMPTY),
        (tally["defect_count"] == 0, GroundTruthStatus.NOT_CONFIGURED),
        (tally["assessed_defect_count"] == tally["defect_count"], GroundTruthStatus.ASSESSED),
        (tally["decided"], GroundTruthStatus.PARTIALLY_ASSESSED),
        else_=GroundTruthStatus.NOT_ASSESSED,
    )


def discovery_rate(tally: FromClause) -> ColumnElement[float | None]:
    """Discovered among known defects: unknown, and never 0, until one of them is fully assessed."""
    return case(
        (tally.c.assessed_defect_count > 0, cast(tally.c.discovered_defect_count, Float) / tally.c.defect_count)
    )


def summary(agent: FromClause) -> Select[Any]:
    """One row: the figures of an agent's current defects over all Suites."""
    defect, counted = table(Defect).alias("its_defect"), table(DefectSuite).alias("counted")
    sums: list[ColumnElement[Any]] = [total(counted.c[name]).label(name) for name in SUMS]
    by_defect = (
        select(defect.c.id.label("defect_pk"), *sums)
        .select_from(defect.outerjoin(counted, counted.c.defect_pk == defect.c.id))
        .where(defect.c.agent_pk == agent.c.id, current(agent, defect))
        .group_by(defect.c.id)
        .correlate(agent)
        .lateral("sums")
    )
    tally = select(*(figure.label(name) for name, figure in tallies(by_defect).items())).lateral("tally")
    return select(
        *tally.c,
        status(
            dict(tally.c.items()),
            invalid=agent.c.manifest_state == ManifestState.INVALID,
            configured=agent.c.manifest_state == ManifestState.VALID,
        ).label("status"),
        agent.c.agent_id.label("agent_id"),
    ).correlate(agent)


def ground_truth_status(agent: FromClause) -> ColumnElement[str]:
    figures = summary(agent).lateral("summary")
    return select(figures.c.status).scalar_subquery()


def is_configured(agent: FromClause) -> ColumnElement[bool]:
    """Whether a manifest can be shown: one was read, or the API holds defects that would stand in one."""
    defect = table(Defect).alias("any_defect")
    held = select(defect.c.id).where(defect.c.agent_pk == agent.c.id, defect.c.retired_at.is_(None)).correlate(agent)
    return or_(
        agent.c.manifest_state == ManifestState.VALID,
        and_(agent.c.manifest_state == ManifestState.MISSING, held.exists()),
    )


def manifest(agent: FromClause) -> ColumnElement[str | None]:
    """The manifest with its present defects: each record in the very text that its digest was taken of."""
    defect, revision = table(Defect).alias("listed_defect"), table(DefectRevision).alias("listed_revision")
    records = (
        select(
            func.aggregate_strings(cast(revision.c.record, Text), ",").aggregate_order_by(
                defect.c.position, defect.c.id
            )
        )
        .where(
            defect.c.agent_pk == agent.c.id,
            defect.c.retired_at.is_(None),
            revision.c.defect_pk == defect.c.id,
            revision.c.revision == defect.c.revision,
        )
        .correlate(agent)
        .scalar_subquery()
    )
    new_head = cast(func.json_build_object("schema", MANIFEST_SCHEMA, "agent_id", agent.c.agent_id), Text)
    head = func.coalesce(cast(agent.c.manifest_head, Text), new_head)
    text = func.concat(func.left(head, -1), literal(',"defects":['), func.coalesce(records, ""), literal("]}"))
    return case((is_configured(agent), cast(text, JsonText)))


def manifest_url(agent: FromClause) -> ColumnElement[str | None]:
    url = func.concat("/api/agents/", url_segment(agent.c.agent_id), "/manifest.json")
    return case((is_configured(agent), url))


def manifest_document(agent_id: str) -> Select[Any]:
    """The text at `manifest_url`."""
    return select(cast(manifest(agents), Text)).where(agents.c.agent_id == agent_id, known(agents))
