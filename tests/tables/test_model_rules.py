from typing import Any

import pytest

from resolvers.model_rules import KEYS, URLS
from tests.rules.house import Answer, House
from tests.tables.table import act
from tests.tables.test_benchmarks import name


async def made(tables: House, **given: Any) -> Answer:
    return await act(tables, "createModel", {"name": name(), "provider": "openai", "modelName": "m", **given})


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"baseUrl": "http://169.254.169.254/latest"}, ["baseUrl"]),
        ({"baseUrl": "https://name:secret@models.example"}, ["baseUrl"]),
        ({"apiKeyVariable": "ASSAY_DATABASE_URL"}, ["apiKeyVariable"]),
        ({"apiKeyVariable": "no name"}, ["apiKeyVariable"]),
    ],
)
async def test_a_model_that_no_rule_allows_is_refused(tables: House, given: Any, path: list[str]) -> None:
    answer = await made(tables, **given)

    assert (answer["__typename"], answer["path"]) == ("InvalidInput", path)


async def test_settings_restrict_the_keys_and_urls_of_models(tables: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEYS, "GROQ_*")
    monkeypatch.setenv(URLS, "https://models.example/v1")

    taken = await made(tables, baseUrl="https://models.example/v1", apiKeyVariable="GROQ_KEY")
    elsewhere = await made(tables, baseUrl="https://other.example")
    official = await made(tables)
    key = await made(tables, baseUrl="https://models.example/v1", apiKeyVariable="HOME")

    assert taken["__typename"] == "CreateModelPayload"
    assert [answer["path"] for answer in (elsewhere, official, key)] == [["baseUrl"], ["baseUrl"], ["apiKeyVariable"]]


async def test_a_change_is_judged_with_what_the_model_keeps(tables: House, monkeypatch: pytest.MonkeyPatch) -> None:
    model = (await made(tables, baseUrl="https://models.example/v1"))["model"]
    monkeypatch.setenv(URLS, "https://models.example/v1")

    answer = await act(tables, "updateModel", {"id": model["id"], "expectedVersion": 1, "baseUrl": None})

    assert (answer["__typename"], answer["path"]) == ("InvalidInput", ["baseUrl"])


async def test_a_rule_that_came_later_leaves_other_changes_alone(
    tables: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = (await made(tables, baseUrl="https://models.example/v1"))["model"]
    monkeypatch.setenv(URLS, "https://other.example")

    answer = await act(tables, "updateModel", {"id": model["id"], "expectedVersion": 1, "maxConcurrency": 2})

    assert answer["__typename"] == "UpdateModelPayload"
