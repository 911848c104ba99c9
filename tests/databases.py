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


OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
EMPTY = """
DO $$
DECLARE
    emptied regclass;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR emptied IN
        SELECT oid FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'alembic_version'
    LOOP
        EXECUTE format('DELETE FROM %s', emptied);
    END LOOP;
END $$
"""
RESTART = "SELECT setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S'"


async def empty(dsn: str) -> None:
    """As it was when it was new, a hundred times as fast: making a database copies files, and truncating syncs them."""
    connection = await asyncpg.connect(dsn)
    try:
        for step in (OTHERS, EMPTY, RESTART):
            await connection.execute(step)
    finally:
        await connection.close()
