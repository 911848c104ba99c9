"""Rows and tables as files: by their urls, and on the command line."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.app import create_app
from server.cli import main
from server.settings import Settings
from tests.tokens import ask

CREATE = """mutation { createBenchmark(input: {name: "Höflich / 1", kind: CONVERSATION}) {
  __typename ... on CreateBenchmarkPayload { benchmark { id } }
} }"""
URLS = """{ benchmark(name: "Höflich / 1") {
  json: rowsUrl lines: rowsUrl(format: JSONL) csv: rowsUrl(format: CSV)
  table: tableUrl tableJson: tableUrl(format: JSON) tableLines: tableUrl(format: JSONL)
} }"""
ADD = """mutation ($id: ID!, $rows: [RowInput!]!) { addRows(input: {benchmarkId: $id, rows: $rows}) { __typename } }"""

ROWS = '[\n{"key":"a","input":"q","expected_output":"1.0","origin":"MANUAL","locked":true}\n]\n'

Assay = Callable[..., tuple[int, str, str]]


@pytest.fixture
async def client(database: str, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(Settings(data_dir=tmp_path / "data"), database)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client,
    ):
        yield client


@pytest.fixture
async def benchmark(client: httpx.AsyncClient) -> str:
    return str((await ask(client, CREATE))["data"]["createBenchmark"]["benchmark"]["id"])


@pytest.fixture
def assay(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Assay:
    """Runs a command: its status, and what it says on both streams."""
    monkeypatch.setenv("ASSAY_DATABASE_URL", database)
    monkeypatch.setenv("ASSAY_DATA_DIR", str(tmp_path / "data"))

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["assay", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capfdbinary.readouterr()
        return int(ended.value.code or 0), said.out.decode(), said.err.decode()

    return run


async def urls(client: httpx.AsyncClient) -> dict[str, str]:
    found: dict[str, str] = (await ask(client, URLS))["data"]["benchmark"]
    return found


async def add(client: httpx.AsyncClient, benchmark: str, *rows: dict[str, Any]) -> None:
    assert (await ask(client, ADD, id=benchmark, rows=rows))["data"]["addRows"]["__typename"] == "AddRowsPayload"


async def test_each_url_leads_to_a_file_of_its_format(client: httpx.AsyncClient, benchmark: str) -> None:
    await add(client, benchmark, {"key": "a", "input": "q", "expectedText": "1.0"})

    files = {name: await client.get(url) for name, url in (await urls(client)).items()}

    assert {name: file.headers["content-type"] for name, file in files.items()} == {
        "json": "application/json",
        "lines": "application/jsonl",
        "csv": "text/csv; charset=utf-8; header=present",
        "table": "text/csv; charset=utf-8; header=present",
        "tableJson": "application/json",
        "tableLines": "application/jsonl",
    }
    assert files["json"].text == ROWS
    assert files["lines"].json() == files["json"].json()[0]
    assert files["csv"].text == "key,input,expected_output,files,origin,locked\r\na,q,1.0,,MANUAL,true\r\n"
    assert files["tableJson"].json() == [{**files["json"].json()[0], "cells": []}]
    assert all(file.headers["content-length"] == str(len(file.content)) for file in files.values())


async def test_a_file_is_called_what_the_benchmark_is_called(client: httpx.AsyncClient, benchmark: str) -> None:
    file = await client.get((await urls(client))["csv"])

    assert file.headers["content-disposition"] == "attachment; filename*=UTF-8''H%C3%B6flich%20%2F%201%20rows.csv"


async def test_a_csv_says_how_many_empty_texts_it_lost(client: httpx.AsyncClient, benchmark: str) -> None:
    await add(
        client, benchmark, {"input": "a", "expectedText": ""}, {"input": "b", "expectedText": " "}, {"input": "c"}
    )
    found = await urls(client)

    assert (await client.get(found["csv"])).headers["assay-empty-texts"] == "1"
    assert (await client.get(found["table"])).headers["assay-empty-texts"] == "1"
    assert "assay-empty-texts" not in (await client.get(found["json"])).headers


@pytest.mark.parametrize("place", ["999/rows.json", "0/rows.csv", "x/table.csv", "9999999999999999999/rows.jsonl"])
async def test_a_benchmark_that_is_not_there_has_no_files(client: httpx.AsyncClient, place: str) -> None:
    answer = await client.get(f"/api/benchmarks/{place}")

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "UNKNOWN_BENCHMARK")


async def test_a_page_of_another_site_reads_no_rows(client: httpx.AsyncClient, benchmark: str) -> None:
    answer = await client.get((await urls(client))["json"], headers={"origin": "http://elsewhere.example"})

    assert answer.status_code == 403


async def test_a_long_table_is_read_in_batches(client: httpx.AsyncClient, benchmark: str) -> None:
    rows = [{"key": str(number), "input": "q"} for number in range(1_203)]
    await add(client, benchmark, *rows)

    found = (await client.get((await urls(client))["json"])).json()

    assert found == rows


async def run(assay: Assay, *arguments: object) -> tuple[int, str, str]:
    # In a thread: commands have an event loop of their own.
    return await asyncio.to_thread(assay, *arguments)


async def test_rows_go_in_and_out_on_the_command_line(
    client: httpx.AsyncClient, benchmark: str, assay: Assay, tmp_path: Path
) -> None:
    source, copy = tmp_path / "rows.json", tmp_path / "copy.json"
    source.write_text(ROWS)

    first = await run(assay, "rows", "import", "Höflich / 1", source)
    second = await run(assay, "rows", "import", "Höflich / 1", source, "--json")
    third = await run(assay, "rows", "export", "Höflich / 1", "-o", copy)
    shown = await run(assay, "rows", "export", "Höflich / 1", "--format", "jsonl")

    assert first == (0, "Höflich / 1: rows added: 1, unchanged: 0\n", "")
    assert (second[0], json.loads(second[1])) == (0, {"added": 0, "unchanged": 1})
    assert (third, copy.read_text()) == ((0, "", ""), ROWS)
    assert shown == (0, ROWS[2:-2], "")


async def test_each_fault_of_a_file_has_a_line_of_its_own(
    client: httpx.AsyncClient, benchmark: str, assay: Assay, tmp_path: Path
) -> None:
    source = tmp_path / "rows.csv"
    source.write_text("key,input,files\na,1,\na,2,\nb,3,[7]\n")

    status, said, faults = await run(assay, "rows", "import", "Höflich / 1", source)

    assert (status, said) == (1, "")
    assert [line.rpartition(": INVALID_ROW: ")[0] for line in faults.splitlines()] == [
        f"{source}:3:key",
        f"{source}:4:files",
    ]
    assert (await client.get((await urls(client))["json"])).json() == []


async def test_an_export_to_csv_says_how_many_empty_texts_it_lost(
    client: httpx.AsyncClient, benchmark: str, assay: Assay
) -> None:
    await add(client, benchmark, {"input": "a", "expectedText": ""})

    status, _, said = await run(assay, "rows", "export", "Höflich / 1", "--format", "CSV")

    assert (status, said) == (0, "Höflich / 1: empty texts written as empty cells: 1\n")


async def test_a_benchmark_of_another_name_is_refused(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text("[]")

    for arguments in (("import", "none", tmp_path / "rows.json"), ("export", "none")):
        status, _, said = await run(assay, "rows", *arguments)
        assert (status, said) == (1, "none: UNKNOWN_BENCHMARK: There is no benchmark of this name.\n")


async def test_an_export_that_cannot_be_written_is_refused(
    client: httpx.AsyncClient, benchmark: str, assay: Assay, tmp_path: Path
) -> None:
    output = tmp_path / "nowhere" / "rows.json"

    status, _, said = await run(assay, "rows", "export", "Höflich / 1", "-o", output)

    assert (status, said) == (1, f"{output}: FILE_UNAVAILABLE: cannot be written: No such file or directory\n")
