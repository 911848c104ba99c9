"""The files of a table, and where they are read."""

from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, FromClause, func

PREFIX = "/api/benchmarks"


class RowFormat(StrEnum):
    """How rows stand in a file."""

    JSON = "JSON"
    JSONL = "JSONL"
    CSV = "CSV"

    @property
    def suffix(self) -> str:
        return self.value.lower()


def rows_url(benchmark: FromClause, given: dict[str, Any]) -> ColumnElement[str]:
    return _url(benchmark, "rows", given["format"])


def table_url(benchmark: FromClause, given: dict[str, Any]) -> ColumnElement[str]:
    return _url(benchmark, "table", given["format"])


def _url(benchmark: FromClause, name: str, format: RowFormat) -> ColumnElement[str]:
    return func.concat(f"{PREFIX}/", benchmark.c.id, f"/{name}.{RowFormat(format).suffix}")
