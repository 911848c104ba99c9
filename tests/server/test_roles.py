"""Each mutation and subscription needs a role, and denies itself to whoever has a lower one."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import strawberry
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    is_required_input_field,
)
from starlette.applications import Starlette
from starlette.routing import Route, WebSocketRoute

from engine.encode import write_global_id
from models.base import Role
from resolvers.access import Viewer
from schema.acting import ROLE
from schema.build import build
from schema.mutation import Mutation
from schema.roles import Needs, subscription
from schema.subscription import Subscription
from server.app import create_app
from server.http import GraphQLView
from server.settings import Settings
from tests.databases import created
from tests.live import serving
from tests.tokens import ask, client_of, granted

SCHEMA = build()
MUTATIONS: GraphQLObjectType = SCHEMA._schema.mutation_type  # type: ignore[assignment]  # there is one
SAMPLES = {
    "String": "x",
    "ID": write_global_id("Agent", 1),
    "Int": 1,
    "Float": 0.5,
    "Boolean": True,
    "Sha256": "0" * 64,
    "DateTime": "2026-01-01T00:00:00Z",
    "JSON": {},
    "Decimal": "0.5",
    "BigInt": 1,
}
ROLES = {
    "registerAgent": "OPERATOR",
    "confirmDefect": "REVIEWER",
    "reviseDefect": "REVIEWER",
    "retireDefect": "REVIEWER",
    "importManifest": "OPERATOR",
    "importSuite": "OPERATOR",
    "recordAssessment": "REVIEWER",
    "recordAssessments": "REVIEWER",
    "reviseAssessment": "REVIEWER",
    "withdrawAssessment": "REVIEWER",
    "importAssessments": "REVIEWER",
    "claimReview": "REVIEWER",
    "releaseReview": "REVIEWER",
    "freezeDiscoveryProtocol": "ADMIN",
    "addTrialSuite": "OPERATOR",
    "createApiToken": "ADMIN",
    "revokeApiToken": "ADMIN",
}


def fields_of(type_: type) -> list[Any]:
    return list(vars(type_)["__strawberry_definition__"].fields)


def name_of(field: Any) -> str:
    return SCHEMA.config.name_converter.get_graphql_name(field)


def role_of(mutation: str) -> Role:
    return Role(next(field.metadata[ROLE] for field in fields_of(Mutation) if name_of(field) == mutation))


def sample(type_: Any) -> Any:
    """The least that an input can be."""
    match type_:
        case GraphQLNonNull(of_type=inner):
            return sample(inner)
        case GraphQLList():
            return []
        case GraphQLEnumType(values=values):
            return next(iter(values))
        case GraphQLInputObjectType(fields=fields):
            return {name: sample(field.type) for name, field in fields.items() if is_required_input_field(field)}
        case _:
            return SAMPLES[type_.name]


@pytest.mark.parametrize("field", [*fields_of(Mutation), *fields_of(Subscription)], ids=lambda field: field.python_name)
def test_whatever_writes_or_streams_needs_a_role(field: Any) -> None:
    assert isinstance(field.metadata.get(ROLE), Role)


def test_each_mutation_needs_the_role_that_the_contract_says() -> None:
    named = {name_of(field): field.metadata[ROLE] for field in fields_of(Mutation)}

    assert ROLES.items() <= named.items()


@dataclass(frozen=True)
class Denying:
    """A server with a token for each role but ADMIN."""

    host: str
    dsn: str
    secrets: dict[Role, str]


@pytest.fixture(scope="module")
async def denying(
    postgres: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Denying]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("denying"))
    async with created(postgres, template=migrated_template) as dsn:
        secrets = {role: await granted(dsn, role.lower(), role) for role in reversed(Role)}
        async with serving(create_app(settings, dsn)) as host:
            yield Denying(host, dsn, secrets)


@pytest.mark.parametrize("name", MUTATIONS.fields)
async def test_a_mutation_is_forbidden_below_its_role_and_writes_nothing(denying: Denying, name: str) -> None:
    field = MUTATIONS.fields[name]
    input_type = field.args["input"].type
    query = f"""mutation Denied($input: {input_type}) {{
      {name}(input: $input) {{ __typename ... on Forbidden {{ message required }} }}
    }}"""
    required = role_of(name)
    lower = list(Role)[: list(Role).index(required)]

    for role in lower:
        async with client_of(denying.host, denying.secrets[role]) as client:
            answer = await ask(client, query, input=sample(input_type))
        assert answer["data"][name] == {
            "__typename": "Forbidden",
            "message": f"This needs the role {required}.",
            "required": required,
        }

    connection = await asyncpg.connect(denying.dsn)
    assert lower
    assert await connection.fetchval("SELECT count(*) FROM actions") == 0
    await connection.close()


def at_once() -> int:
    return 1


async def later() -> int:
    return 2


@strawberry.type
class Query:
    at_once: int = strawberry.field(resolver=at_once, extensions=[Needs(Role.OPERATOR)])
    later: int = strawberry.field(resolver=later, extensions=[Needs(Role.OPERATOR)])


@strawberry.type
class Stream:
    @subscription(Role.OPERATOR)
    async def again(self) -> AsyncGenerator[int, None]:
        yield 3


@dataclass
class Seen:
    viewer: Viewer


def application(role: Role) -> Starlette:
    schema = strawberry.Schema(Query, subscription=Stream)
    view = GraphQLView(schema, context=lambda _: Seen(Viewer("someone", role)))
    return Starlette(routes=[Route("/graphql", view), WebSocketRoute("/graphql", view)])


@pytest.mark.parametrize("query", ["{ atOnce }", "{ later }", "subscription { again }"])
@pytest.mark.parametrize("role", list(Role))
async def test_a_field_is_denied_below_its_role_whichever_way_it_answers(
    role: Role, query: str, tmp_path: Path
) -> None:
    async with serving(application(role)) as host, client_of(host) as client:
        response = await client.post("/graphql", json={"query": query}, headers={"accept": "text/event-stream"})

    is_denied = role in (Role.VIEWER, Role.REVIEWER)
    assert ('"extensions":{"code":"FORBIDDEN","required":"OPERATOR"}' in response.text) is is_denied
    assert any(told in response.text for told in ('"atOnce":1', '"later":2', '"again":3')) is not is_denied
