"""Databases that live as long as a test."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import asyncpg


def named(dsn: str, name: str) -> str:
    return urlsplit(dsn)._replace(path=f"/{name}").geturl()


def name_of(dsn: str) -> str:
    return urlsplit(dsn).path.removeprefix("/")


async def execute(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


@asynccontextmanager
async def created(dsn: str, *, template: str) -> AsyncIterator[str]:
    name = f"test_{secrets.token_hex(8)}"
    await execute(dsn, f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    try:
        yield named(dsn, name)
    finally:
        await execute(dsn, f'DROP DATABASE "{name}" WITH (FORCE)')
