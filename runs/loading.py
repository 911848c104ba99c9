"""What the items of one claim need: questions or cells, metrics, and the files of their rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncConnection

from models.base import RunStage
from resolvers import asking, facts
from resolvers.asking import FileNamed, Question
from resolvers.facts import CellFacts, MetricUsed
from resolvers.queue import Held
from runs.calls import Document


class Files(Protocol):
    async def read(self, sha256: str) -> bytes: ...


class FileLost(Exception):
    """A row's file is not to be had; the message is its name."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """By item, and metrics by their key; what was removed meanwhile is missing."""

    questions: Mapping[int, Question]
    facts: Mapping[int, CellFacts]
    metrics: Mapping[int, MetricUsed]
    files: Mapping[int, Sequence[FileNamed]]


async def load(connection: AsyncConnection, held: Sequence[Held]) -> Loaded:
    """Nothing is asked for which no item is there."""
    asked = [item for item in held if item.stage == RunStage.GENERATE]
    scored = [item for item in held if item.stage == RunStage.EVALUATE]
    metric_pks = {pk for item in scored for pk in item.metric_pks}
    judged = [item for item in scored if item.model_pk is not None]
    return Loaded(
        await asking.questions(connection, asked) if asked else {},
        await facts.cell_facts(connection, scored) if scored else {},
        await facts.used_metrics(connection, metric_pks) if metric_pks else {},
        await asking.files_of(connection, judged) if judged else {},
    )


async def documents_of(files: Files, named: Iterable[FileNamed]) -> list[Document]:
    return [Document(file.name, file.media_type, await _bytes(files, file)) for file in named]


async def _bytes(files: Files, file: FileNamed) -> bytes:
    try:
        return await files.read(file.sha256)
    except Exception as error:
        raise FileLost(file.name) from error
