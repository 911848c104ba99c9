from datetime import datetime

import strawberry

from engine.graph import Connection, Node
from engine.mapping import backed, many
from engine.references import ref
from models import ApiToken as ApiTokens
from models.base import table
from resolvers import access
from schema.acting import Request, mutation
from schema.enums import Role
from schema.ids import key_of
from schema.results import Duplicate, InvalidInput, NotFound
from schema.roles import guard


@strawberry.type
class Viewer:
    name: str
    role: Role


@backed(table(ApiTokens), guard=guard(Role.ADMIN))
class ApiToken(Node):
    name: str
    role: Role
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None


def viewer(info: Request) -> Viewer:
    return Viewer(name=info.context.viewer.name, role=info.context.viewer.role)


@backed()
class AccessQueries:
    viewer: Viewer = strawberry.field(resolver=viewer)
    api_tokens: Connection[ApiToken] = many(description="ADMIN.")


@strawberry.input
class CreateApiTokenInput:
    name: str
    role: Role
    expires_at: datetime | None = None


@strawberry.input
class RevokeApiTokenInput:
    id: strawberry.ID


@strawberry.type
class CreateApiTokenPayload:
    token: ApiToken
    secret: str


@strawberry.type
class RevokeApiTokenPayload:
    token: ApiToken


@strawberry.type
class AccessMutations:
    @mutation(Role.ADMIN, InvalidInput, Duplicate)
    async def create_api_token(self, info: Request, input: CreateApiTokenInput) -> CreateApiTokenPayload:
        key, secret = await access.create(info.context.acting, input.name, input.role, input.expires_at)
        return CreateApiTokenPayload(token=ref(ApiToken, key), secret=secret)

    @mutation(Role.ADMIN, NotFound)
    async def revoke_api_token(self, info: Request, input: RevokeApiTokenInput) -> RevokeApiTokenPayload:
        key = await access.revoke(info.context.acting, key_of(ApiToken, input.id, ("id",)))
        return RevokeApiTokenPayload(token=ref(ApiToken, key))
