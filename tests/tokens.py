"""Tokens, and clients that bring them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import httpx
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from models.base import Role
from resolvers import access
from resolvers.acting import Acting
from server.database import write_engine


async def granted(dsn: str, name: str = "admin", role: Role = Role.ADMIN, expires_at: datetime | None = None) -> str:
    """The secret of a new token, made as the command line makes it: by another process."""
    engine = write_engine(dsn)
    try:
        async with engine.begin() as connection:
            _, secret = await access.create(Acting(connection, "tests"), name, role, expires_at)
    finally:
        await engine.dispose()
    return secret


def bearing(secret: str | None) -> dict[str, str]:
    return {} if secret is None else {"authorization": f"Bearer {secret}"}


@asynccontextmanager
async def client_of(host: str, secret: str | None = None) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://{host}", headers=bearing(secret), timeout=30) as client:
        yield client


async def ask(client: httpx.AsyncClient, query: str, **variables: Any) -> Any:
    return (await client.post("/graphql", json={"query": query, "variables": variables})).json()


def socket_to(host: str, secret: str | None = None) -> connect:
    return connect(
        f"ws://{host}/graphql",
        subprotocols=[Subprotocol("graphql-transport-ws")],
        additional_headers=bearing(secret),
    )
