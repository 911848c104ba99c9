import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest

from models.base import CellErrorKind
from tests.provider import Provider
from tests.runs.calling import ask, endpoint, failed


@pytest.fixture
def leading(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, list[list[str]]], list[str]]:
    """Lets a name lead to these addresses, one list after the other; gives the names that were looked up."""
    original = socket.getaddrinfo

    def lead(name: str, answers: list[list[str]]) -> list[str]:
        looked_up: list[str] = []

        def getaddrinfo(host: str, port: int, *rest: Any, **more: Any) -> Any:
            if host != name:
                return original(host, port, *rest, **more)
            looked_up.append(host)
            found = answers.pop(0) if len(answers) > 1 else answers[0]
            return [entry for address in found for entry in original(address, port, *rest, **more)]

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        return looked_up

    return lead


def named(provider: Provider) -> str:
    return provider.base_url.replace("127.0.0.1", "models.test")


async def test_a_name_that_leads_to_a_forbidden_address_is_not_called(provider: Provider, leading: Any) -> None:
    leading("models.test", [["127.0.0.1", "169.254.169.254"]])

    error = await failed(endpoint(provider, base_url=named(provider)))

    assert (error.kind, error.message) == (
        CellErrorKind.PROVIDER,
        "Link-local and metadata addresses cannot be called.",
    )
    assert (error.usage.calls, provider.asked()) == (0, [])


async def test_the_address_that_was_looked_at_is_the_one_that_is_called(provider: Provider, leading: Any) -> None:
    looked_up = leading("models.test", [["127.0.0.1"], ["169.254.169.254"]])

    reply = await ask(endpoint(provider, base_url=named(provider)))

    assert (reply.usage.calls, looked_up) == (1, ["models.test"])


async def test_the_next_address_is_tried_where_one_refuses(provider: Provider, leading: Any) -> None:
    leading("models.test", [["127.0.0.2", "127.0.0.1"]])

    assert (await ask(endpoint(provider, base_url=named(provider)))).usage.calls == 1


async def test_a_name_that_leads_nowhere_cannot_be_reached(provider: Provider, leading: Any) -> None:
    leading("models.test", [[]])

    error = await failed(endpoint(provider, base_url=named(provider)))

    assert (error.kind, error.message) == (CellErrorKind.PROVIDER, "The provider cannot be reached.")


async def test_redirects_are_not_followed(provider: Provider) -> None:
    provider.on(model="m", behaviours=[f"redirect:{provider.base_url}/chat/completions"])

    error = await failed(endpoint(provider))

    assert error.message == "The provider redirects calls, and redirects are not followed."
    assert len(provider.asked()) == 1


async def test_proxies_of_the_environment_are_not_used(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")

    assert (await ask(endpoint(provider))).usage.calls == 1


async def test_addresses_of_providers_are_not_taken_from_the_environment(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, leading: Any
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
    monkeypatch.setenv("MODEL_KEY", "secret")
    leading("api.openai.com", [[]])

    error = await failed(endpoint(provider, base_url=None, api_key_variable="MODEL_KEY"))

    assert (error.message, provider.asked()) == ("The provider cannot be reached.", [])


async def test_an_answer_that_is_packed_is_not_unpacked(provider: Provider) -> None:
    async def packed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(packed, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        error = await failed(endpoint(provider, base_url=f"http://127.0.0.1:{port}"))

    assert error.message == "The provider packs its answers, though asked not to."
