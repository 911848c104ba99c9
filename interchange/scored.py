"""Scores in a table's file: what still holds as a value, and of the rest what became of it."""

from collections.abc import Iterator, Sequence
from typing import Final

from interchange.tables import CellRecord, ScoreRecord
from resolvers.values import written

# A metric and its variable, by their names.
Variable = tuple[str, str]

# In place of the status of a score that no longer holds; its value is left out.
STALE: Final = "STALE"


def scores_header(variables: Sequence[Variable]) -> Iterator[str]:
    for metric, variable in variables:
        yield f"{metric}.{variable}"
        yield f"{metric}.{variable} status"


def scores_cells(cell: CellRecord, variables: Sequence[Variable]) -> Iterator[str | None]:
    """A text as it is, all else as JSON; two empty cells where nothing was scored."""
    for variable in variables:
        score = cell.scores.get(variable)
        if score is None:
            yield from (None, None)
        else:
            value = _value(score)
            yield value if value is None or isinstance(value, str) else written(value)
            yield _status(score)


def scores_members(cell: CellRecord, variables: Sequence[Variable]) -> dict[str, str]:
    """The member `scores`, as JSON text; none where no metric is chosen."""
    if not variables:
        return {}
    found = (cell.scores.get(variable) for variable in variables)
    return {"scores": written([_members(score) for score in found if score is not None])}


def _members(score: ScoreRecord) -> dict[str, str | float | bool]:
    said = {"value": _value(score), "reason": score.reason}
    kept = {name: value for name, value in said.items() if value is not None}
    return {"metric": score.metric, "variable": score.variable, "status": _status(score), **kept}


def _status(score: ScoreRecord) -> str:
    return STALE if score.stale else score.status


def _value(score: ScoreRecord) -> str | float | bool | None:
    if score.stale:
        return None
    return next((value for value in (score.number, score.boolean, score.text) if value is not None), None)
