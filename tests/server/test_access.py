"""Who is let in: with a real server, over each way that leads in."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from models.base import Role
from server.app import create_app
from server.database import connector, write_engine
from server.door import Door, Unauthorized
from server.listening import Listener
from server.settings import Settings
from tests.databases import created as created_database
from tests.live import serving
from tests.tokens import ask, client_of, granted
from tests.waiting import eventually

VIEWER = "{ viewer { name role } }"
CREATE = """
mutation Create($input: CreateApiTokenInput!) {
  createApiToken(input: $input) {
    __typename
    ... on CreateApiTokenPayload { secret token { id name role createdAt lastUsedAt expiresAt revokedAt } }
    ... on Error { message }
    ... on InvalidInput { path code }
    ... on Duplicate { existing { id } }
    ... on Forbidden { required }
  }
}
"""
REVOKE = """
mutation Revoke($id: ID!) {
  revokeApiToken(input: { id: $id }) {
    __typename
    ... on RevokeApiTokenPayload { token { name revokedAt } }
    ... on NotFound { path }
  }
}
"""
DIGEST = "0" * 64
GUARDED = [
    ("GET", "/graphql?query={viewer{name}}", {"accept": "application/json"}),
    ("POST", "/graphql", {"accept": "application/graphql-response+json"}),
    ("POST", "/graphql", {"accept": "text/event-stream"}),
    ("GET", "/graphql?query={viewer{name}}", {"accept": "text/html"}),
    ("GET", f"/files/{DIGEST}", {}),
    ("HEAD", f"/files/{DIGEST}", {}),
    ("POST", "/files", {}),
    ("GET", "/api/benchmark/overview", {}),
    ("GET", "/api/agents/a/manifest.json", {}),
    ("GET", "/api/suites/s/assessments.json", {}),
    ("GET", "/api/benchmarks/1/rows.json", {}),
    ("GET", "/api/benchmarks/1/table.csv", {}),
    ("GET", "/metrics", {}),
    ("GET", "/no-such-address", {}),
    ("GET", "/static", {}),
]
OPEN = [
    ("/healthz", {}, 200),
    ("/readyz", {}, 200),
    ("/static/none.js", {}, 404),
    ("/graphql", {"accept": "text/html"}, None),
]


@pytest.fixture
async def host(database: str, tmp_path: Path) -> AsyncIterator[str]:
    async with serving(create_app(Settings(data_dir=tmp_path), database)) as host:
        yield host


@pytest.fixture
async def other_host(database: str, tmp_path: Path) -> AsyncIterator[str]:
    """Another process on the same database, as far as they could know."""
    async with serving(create_app(Settings(data_dir=tmp_path), database)) as host:
        yield host


@pytest.fixture(scope="module")
async def closed_host(
    postgres: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[str]:
    """A server whose door was shut before."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("closed"))
    async with created_database(postgres, template=migrated_template) as dsn:
        await granted(dsn)
        async with serving(create_app(settings, dsn)) as host:
            yield host


async def is_refused(client: httpx.AsyncClient) -> bool:
    return (await client.post("/graphql", json={"query": VIEWER})).status_code == 401


async def created(client: httpx.AsyncClient, name: str, role: str, **options: Any) -> Any:
    return (await ask(client, CREATE, input={"name": name, "role": role, **options}))["data"]["createApiToken"]


async def test_everybody_on_this_machine_is_admin_as_long_as_there_was_no_token(host: str) -> None:
    async with client_of(host) as client:
        answer = await ask(client, VIEWER)

    assert answer == {"data": {"viewer": {"name": "local", "role": "ADMIN"}}}


async def test_an_address_that_others_reach_is_never_open(database: str, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, host="192.0.2.1")

    async with serving(create_app(settings, database)) as host, client_of(host) as client:
        assert await is_refused(client)


@pytest.mark.parametrize(("method", "path", "headers"), GUARDED)
async def test_with_a_token_made_nothing_is_had_without_one(
    closed_host: str, method: str, path: str, headers: dict[str, str]
) -> None:
    async with client_of(closed_host) as client:
        response = await client.request(
            method, path, headers=headers, json={"query": VIEWER} if "POST" in method else None
        )

    assert response.status_code == 401
    assert response.headers["www-authenticate"] == 'Bearer realm="assay"'
    assert response.headers["content-type"] == (
        headers["accept"] if "json" in headers.get("accept", "") else "application/json"
    )
    if method != "HEAD":
        assert "UNAUTHENTICATED" in response.text
        assert response.json().keys() == ({"errors"} if path.startswith("/graphql") else {"error"})


@pytest.mark.parametrize(("path", "headers", "status"), OPEN)
async def test_pages_and_health_are_open(
    closed_host: str, path: str, headers: dict[str, str], status: int | None
) -> None:
    async with client_of(closed_host) as client:
        response = await client.get(path, headers=headers)

    assert response.status_code != 401
    assert status in (None, response.status_code)


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer assay_none", "Basic YTpi", "assay_none", "Bearer " + "x" * 5000]
)
async def test_what_is_no_token_opens_nothing(closed_host: str, authorization: str) -> None:
    async with client_of(closed_host) as client:
        response = await client.post("/graphql", json={"query": VIEWER}, headers={"authorization": authorization})

    assert response.status_code == 401


async def test_the_first_token_shuts_the_door_for_whoever_came_without_one(host: str, database: str) -> None:
    async with client_of(host) as client:
        assert not await is_refused(client)
        await granted(database)

        await eventually(lambda: is_refused(client))


async def test_a_token_says_who_calls(host: str, database: str) -> None:
    async with client_of(host, await granted(database)) as admin:
        reviewer = await created(admin, "Priya", "REVIEWER", expiresAt="2100-01-01T00:00:00Z")
        async with client_of(host, reviewer["secret"]) as client:
            answer = await ask(client, VIEWER)

    assert answer["data"]["viewer"] == {"name": "Priya", "role": "REVIEWER"}
    assert {**reviewer["token"], "id": "", "createdAt": ""} == {
        "id": "",
        "name": "Priya",
        "role": "REVIEWER",
        "createdAt": "",
        "lastUsedAt": None,
        "expiresAt": "2100-01-01T00:00:00Z",
        "revokedAt": None,
    }


async def test_the_first_token_must_be_an_admins(host: str) -> None:
    async with client_of(host) as client:
        refused = await created(client, "Priya", "OPERATOR")
        still = await ask(client, VIEWER)

    assert (refused["__typename"], refused["path"], refused["code"]) == ("InvalidInput", ["role"], "INVALID_FIELD")
    assert still["data"]["viewer"]["name"] == "local"


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"name": " "}, ["name"]),
        ({"name": "local"}, ["name"]),
        ({"name": "tree:demo"}, ["name"]),
        ({"expiresAt": "2020-01-01T00:00:00Z"}, ["expiresAt"]),
    ],
)
async def test_a_token_that_makes_no_sense_is_refused(host: str, given: dict[str, str], path: list[str]) -> None:
    async with client_of(host) as client:
        refused = await created(client, **{"name": "admin", "role": "ADMIN", **given})

    assert (refused["__typename"], refused["path"]) == ("InvalidInput", path)


async def test_a_name_is_given_once(host: str, database: str) -> None:
    async with client_of(host, await granted(database)) as admin:
        first = await created(admin, "Priya", "VIEWER")
        again = await created(admin, "Priya", "ADMIN")

    assert again["__typename"] == "Duplicate"
    assert again["existing"] == {"id": first["token"]["id"]}


async def test_a_revoked_token_stops_working_at_once(host: str, database: str) -> None:
    async with client_of(host, await granted(database)) as admin:
        made = await created(admin, "Priya", "ADMIN")
        async with client_of(host, made["secret"]) as client:
            assert not await is_refused(client)
            revoked = await ask(admin, REVOKE, id=made["token"]["id"])
            response = await client.post("/graphql", json={"query": VIEWER})

    assert revoked["data"]["revokeApiToken"]["token"]["revokedAt"] is not None
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == 'Bearer realm="assay", error="invalid_token"'


async def test_a_token_that_was_revoked_elsewhere_stops_working_here(host: str, other_host: str, database: str) -> None:
    secret = await granted(database)
    async with client_of(host, secret) as admin:
        made = await created(admin, "Priya", "VIEWER")
        async with client_of(other_host, made["secret"]) as client:
            assert not await is_refused(client)
            await ask(admin, REVOKE, id=made["token"]["id"])

            await eventually(lambda: is_refused(client))


async def test_whoever_revokes_its_own_token_is_still_answered(host: str, database: str) -> None:
    async with client_of(host, await granted(database)) as admin:
        [token] = (await ask(admin, "{ apiTokens { nodes { id } } }"))["data"]["apiTokens"]["nodes"]
        answer = await ask(admin, REVOKE, **token)

        assert answer["data"]["revokeApiToken"]["__typename"] == "RevokeApiTokenPayload"
        assert await is_refused(admin)


async def test_revoking_the_last_token_does_not_open_the_door(host: str, other_host: str, database: str) -> None:
    async with client_of(host, await granted(database)) as admin:
        [token] = (await ask(admin, "{ apiTokens { nodes { id } } }"))["data"]["apiTokens"]["nodes"]
        await ask(admin, REVOKE, **token)

    for each in (host, other_host):
        async with client_of(each) as client:
            assert await is_refused(client)


async def test_no_statement_takes_a_token_away(database: str) -> None:
    await granted(database)
    connection = await asyncpg.connect(database)

    with pytest.raises(asyncpg.RestrictViolationError):
        await connection.execute("DELETE FROM api_tokens")
    await connection.close()


async def test_tokens_are_shown_to_admins_alone_whichever_way_leads_to_them(host: str, database: str) -> None:
    async with client_of(host, await granted(database)) as admin:
        made = await created(admin, "Omar", "OPERATOR")
        id_ = made["token"]["id"]
        shown = await ask(admin, "query($id: ID!) { node(id: $id) { ... on ApiToken { name } } }", id=id_)
        async with client_of(host, made["secret"]) as client:
            answers = [
                await ask(client, "{ apiTokens { totalCount } }"),
                await ask(client, "query($id: ID!) { node(id: $id) { id } }", id=id_),
                await ask(client, "query($id: ID!) { nodes(ids: [$id]) { ... on ApiToken { name } } }", id=id_),
            ]

    assert shown == {"data": {"node": {"name": "Omar"}}}
    assert [answer["errors"][0]["extensions"] for answer in answers] == 3 * [{"code": "FORBIDDEN", "required": "ADMIN"}]


async def test_the_use_of_a_token_is_noted(host: str, database: str) -> None:
    async with client_of(host, await granted(database)) as admin:

        async def is_noted() -> bool:
            [token] = (await ask(admin, "{ apiTokens { nodes { lastUsedAt } } }"))["data"]["apiTokens"]["nodes"]
            return token["lastUsedAt"] is not None

        await eventually(is_noted)


async def everything(dsn: str) -> str:
    """The rows of all tables as text."""
    connection = await asyncpg.connect(dsn)
    tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    rows = [await connection.fetch(f'SELECT each::text FROM "{name}" each') for (name,) in tables]  # noqa: S608
    await connection.close()
    return "\n".join(row[0] for found in rows for row in found)


async def test_a_secret_stands_nowhere_but_in_the_answer_that_made_it(
    host: str, database: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    first = await granted(database)
    async with client_of(host, first) as admin:
        made = await created(admin, "Priya", "ADMIN")
        secrets = (first, made["secret"])
        async with client_of(host, made["secret"]) as client:
            await ask(client, "{ nonsense }")
            await ask(client, REVOKE, id="bm9uc2Vuc2U=")
        shown = await admin.post("/graphql", json={"query": "{ apiTokens { nodes { id name } } __typename }"})

    stored, printed = await everything(database), capfd.readouterr()
    assert "Priya" in stored
    for secret in secrets:
        assert secret not in stored
        assert secret not in shown.text
        assert secret not in caplog.text + printed.out + printed.err


class Queries:
    def __init__(self, engine: AsyncEngine) -> None:
        self.count = 0
        event.listen(engine.sync_engine, "before_cursor_execute", self._note)

    def _note(self, *_: Any) -> None:
        self.count += 1


async def test_a_token_that_is_known_costs_no_question(database: str, tmp_path: Path) -> None:
    app = create_app(Settings(data_dir=tmp_path), database)
    secret = await granted(database)
    async with serving(app) as host, client_of(host, secret) as client:
        engine = app.state.database.engine
        await ask(client, VIEWER)
        await eventually(lambda: is_written(engine))
        queries = Queries(engine)

        answers = [await ask(client, VIEWER) for _ in range(20)]

    assert all(answer["data"]["viewer"]["name"] == "admin" for answer in answers)
    assert queries.count == 0


async def is_written(engine: AsyncEngine) -> bool:
    async with engine.connect() as connection:
        used = await connection.exec_driver_sql("SELECT every(last_used_at IS NOT NULL) FROM api_tokens")
        return bool(used.scalar_one())


async def test_where_nothing_is_heard_the_database_is_asked_each_time(database: str) -> None:
    secret = await granted(database)
    engine = write_engine(database)
    deaf = Listener(connector(database))
    door = Door(engine, deaf, is_local=True)
    viewer = await door.admit(f"Bearer {secret}")

    async with engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE api_tokens SET revoked_at = now()")

    with pytest.raises(Unauthorized):
        await door.admit(f"Bearer {secret}")
    assert (viewer.name, viewer.role) == ("admin", Role.ADMIN)
    await engine.dispose()


async def test_a_listener_that_was_cut_off_forgets_what_it_may_have_missed(host: str, database: str) -> None:
    secret = await granted(database)
    async with client_of(host, secret) as client:
        assert not await is_refused(client)
        connection = await asyncpg.connect(database)
        # Nothing is announced, as when the announcement was sent while nobody listened.
        await connection.execute("SET session_replication_role = replica")
        await connection.execute("UPDATE api_tokens SET revoked_at = now()")
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_current_snapshot()::text'"
            " AND pid <> pg_backend_pid() AND datname = current_database()"
        )
        await connection.close()

        await eventually(lambda: is_refused(client))


async def test_who_acted_is_recorded(host: str, database: str) -> None:
    async with client_of(host, await granted(database)) as admin:
        await created(admin, "Priya", "VIEWER")

    connection = await asyncpg.connect(database)
    rows = await connection.fetch("SELECT actor, mutation FROM actions")
    by = await connection.fetchval("SELECT created_by FROM api_tokens WHERE name = 'Priya'")
    await connection.close()
    assert [tuple(row) for row in rows] == [("admin", "create_api_token")]
    assert by == "admin"
