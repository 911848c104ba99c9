from pathlib import Path

import httpx
import pytest

FILES = sorted((Path(__file__).parents[2] / "web" / "src" / "examples").glob("*.graphql"))
EXAMPLES = {file.stem: file.read_text() for file in FILES}


@pytest.mark.parametrize("name", EXAMPLES)
async def test_every_example_is_answered_without_an_error(service: str, name: str) -> None:
    async with httpx.AsyncClient() as client:
        response = await client.post(f"{service}/graphql", json={"query": EXAMPLES[name]})
    assert response.status_code == 200
    assert "errors" not in response.json()


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 6
