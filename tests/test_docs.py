import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from models import base
from server.settings import Settings

PROJECT = Path(__file__).parents[1]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)\)")
# Pages whose blocks follow one another: see test_docs_steps.
STEPS = {"benchmarks.md", "metrics.md", "runs.md"}
ROW = re.compile(r"^\| `(\w+)` \| (?:`(.*?)`)?", re.MULTILINE)
VOCABULARIES = [
    base.GroundTruthStatus,
    base.DefectStatus,
    base.AssessmentStatus,
    base.SuiteState,
    base.ReasonCode,
]
# What an answer shows in place of text that means nothing to a reader.
ANY = "…"


@dataclass(frozen=True)
class Query:
    place: str
    text: str
    # The whole answer, where the page shows it.
    answer: Any = None


def queries_of(page: Path) -> Iterator[Query]:
    blocks = list(FENCED.finditer(page.read_text()))
    for block, following in zip_longest(blocks, blocks[1:]):
        if block[1] == "graphql":
            line = block.string.count("\n", 0, block.start()) + 1
            answer = orjson.loads(following[2]) if following and following[1] == "json" else None
            yield Query(f"{page.name}:{line}", block[2], answer)


QUERIES = [query for page in PAGES if page.name not in STEPS for query in queries_of(page)]


def fits(shown: Any, given: Any) -> bool:
    if shown == ANY:
        return isinstance(given, str)
    if isinstance(shown, dict) and isinstance(given, dict):
        return shown.keys() == given.keys() and all(fits(shown[key], given[key]) for key in shown)
    if isinstance(shown, list) and isinstance(given, list):
        return len(shown) == len(given) and all(map(fits, shown, given))
    return type(shown) is type(given) and bool(shown == given)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.place)
async def test_every_query_is_answered_as_the_page_shows(demo: str, query: Query) -> None:
    async with httpx.AsyncClient() as client:
        answer = (await client.post(f"{demo}/graphql", json={"query": query.text})).json()
    if query.answer is None:
        assert "errors" not in answer
    else:
        assert fits(query.answer, answer), answer


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    missing = [target for target in LINK.findall(page.read_text()) if not (page.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize("vocabulary", VOCABULARIES, ids=lambda vocabulary: vocabulary.__name__)
def test_every_status_and_code_is_explained(vocabulary: type[StrEnum]) -> None:
    explained = {name for name, _ in ROW.findall((PROJECT / "docs" / "statuses.md").read_text())}
    assert set(vocabulary) - explained == set()


def test_nothing_is_explained_that_is_not_there() -> None:
    explained = {name for name, _ in ROW.findall((PROJECT / "docs" / "statuses.md").read_text())}
    assert explained - {word for vocabulary in VOCABULARIES for word in vocabulary} == set()


def test_the_settings_and_their_defaults_are_those_of_the_program() -> None:
    described = dict(ROW.findall((PROJECT / "docs" / "configuration.md").read_text()))
    fields = Settings.model_fields.items()
    assert described == {f"ASSAY_{name}".upper(): str(field.default or "") for name, field in fields}


def test_the_pages_show_queries() -> None:
    assert {query.place.partition(":")[0] for query in QUERIES} >= {"README.md", "query.md"}
