"""Triggers for what no constraint can say: immutable revisions, two observations, history, sums."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

REFUSE_CHANGE = """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% never change: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$
"""

WANT_TWO_OBSERVATIONS = """
CREATE FUNCTION want_two_observations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(*) FROM observations WHERE revision_pk = NEW.id) < 2 THEN
        RAISE EXCEPTION 'a defect needs at least two observations' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$
"""

WANT_NEXT_VERSION = """
CREATE FUNCTION want_next_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.version <> OLD.version + 1 THEN
        RAISE EXCEPTION 'a changed assessment needs the next version' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$
"""

DECIDED = (
    "suite_pk, {0}.agent_id, {0}.case_index, {0}.attempt_id, {0}.defect_id, {0}.ground_truth_sha256, {0}.case_sha256,"
    " {0}.result_sha256, {0}.case_reproduced, {0}.judge_detected, {0}.reviewed_by, {0}.reviewed_at, {0}.rationale,"
    " {0}.status = 'WITHDRAWN'"
)

NEXT_VERSION_TRIGGER = f"""
CREATE TRIGGER assessments_version BEFORE UPDATE ON assessments FOR EACH ROW
WHEN ((OLD.{DECIDED.format("OLD")}) IS DISTINCT FROM (NEW.{DECIDED.format("NEW")}) OR OLD.version <> NEW.version)
EXECUTE FUNCTION want_next_version()
"""

HISTORY = """
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO assessment_changes (
        assessment_pk, version, ground_truth_sha256, case_sha256, result_sha256, case_reproduced, judge_detected,
        reviewed_by, reviewed_at, rationale, changed_by, changed_at, withdrawn
    )
    SELECT
        id, version, ground_truth_sha256, case_sha256, result_sha256, case_reproduced, judge_detected,
        reviewed_by, reviewed_at, rationale, recorded_by, recorded_at, status = 'WITHDRAWN'
    FROM ({changed}) changed
    WHERE fault_code IS NULL;
    RETURN NULL;
END $$
"""

SUMS = """
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO defect_suites AS sums (
        defect_pk, suite_pk, accepted, complete, reproduced, not_reproduced, detected, not_detected, judged, recalled
    )
    SELECT
        defect_pk,
        suite_pk,
        sum(sign),
        coalesce(sum(sign) FILTER (WHERE case_reproduced IS NOT NULL AND judge_detected IS NOT NULL), 0),
        coalesce(sum(sign) FILTER (WHERE case_reproduced), 0),
        coalesce(sum(sign) FILTER (WHERE NOT case_reproduced), 0),
        coalesce(sum(sign) FILTER (WHERE judge_detected), 0),
        coalesce(sum(sign) FILTER (WHERE NOT judge_detected), 0),
        coalesce(sum(sign) FILTER (WHERE case_reproduced AND judge_detected IS NOT NULL), 0),
        coalesce(sum(sign) FILTER (WHERE case_reproduced AND judge_detected), 0)
    FROM ({changes}) changes
    WHERE status = 'ACCEPTED'
    GROUP BY defect_pk, suite_pk
    ORDER BY defect_pk, suite_pk
    ON CONFLICT (defect_pk, suite_pk) DO UPDATE SET
        accepted = sums.accepted + excluded.accepted,
        complete = sums.complete + excluded.complete,
        reproduced = sums.reproduced + excluded.reproduced,
        not_reproduced = sums.not_reproduced + excluded.not_reproduced,
        detected = sums.detected + excluded.detected,
        not_detected = sums.not_detected + excluded.not_detected,
        judged = sums.judged + excluded.judged,
        recalled = sums.recalled + excluded.recalled;
    RETURN NULL;
END $$
"""

ADDED, REMOVED = "SELECT *, 1 AS sign FROM after_change", "SELECT *, -1 AS sign FROM before_change"
NEW_VERSIONS = (
    "SELECT after_change.* FROM after_change JOIN before_change USING (id)"
    " WHERE after_change.version <> before_change.version"
)

AFTER_STATEMENT = "CREATE TRIGGER {name} AFTER {event} ON assessments REFERENCING {tables} FOR EACH STATEMENT EXECUTE FUNCTION {name}()"
EVENTS = {
    "insert": "NEW TABLE AS after_change",
    "update": "OLD TABLE AS before_change NEW TABLE AS after_change",
    "delete": "OLD TABLE AS before_change",
}
HISTORIES = {"insert": "SELECT * FROM after_change", "update": NEW_VERSIONS}
CHANGES = {"insert": ADDED, "update": f"{REMOVED} UNION ALL {ADDED}", "delete": REMOVED}


def upgrade() -> None:
    op.execute(REFUSE_CHANGE)
    for table in ("defect_revisions", "observations", "assessment_changes"):
        op.execute(
            f"CREATE TRIGGER {table}_immutable BEFORE UPDATE OR DELETE ON {table}"
            " FOR EACH ROW EXECUTE FUNCTION refuse_change()"
        )
    op.execute(WANT_TWO_OBSERVATIONS)
    op.execute(
        "CREATE CONSTRAINT TRIGGER defect_revisions_observed AFTER INSERT ON defect_revisions"
        " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION want_two_observations()"
    )
    op.execute(WANT_NEXT_VERSION)
    op.execute(NEXT_VERSION_TRIGGER)
    for event, changed in HISTORIES.items():
        name = f"keep_history_on_{event}"
        op.execute(HISTORY.format(name=name, changed=changed))
        op.execute(AFTER_STATEMENT.format(name=name, event=event, tables=EVENTS[event]))
    for event, changes in CHANGES.items():
        name = f"keep_sums_on_{event}"
        op.execute(SUMS.format(name=name, changes=changes))
        op.execute(AFTER_STATEMENT.format(name=name, event=event, tables=EVENTS[event]))


def downgrade() -> None:
    for function in (
        *(f"keep_sums_on_{event}" for event in CHANGES),
        *(f"keep_history_on_{event}" for event in HISTORIES),
        "want_next_version",
        "want_two_observations",
        "refuse_change",
    ):
        op.execute(f"DROP FUNCTION {function}() CASCADE")
