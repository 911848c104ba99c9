from typing import TYPE_CHECKING, Annotated, Literal

import typer

from server.commands import app

if TYPE_CHECKING:
    from datetime import datetime

    from server.opening import Opened

ACTOR = "local"

token = typer.Typer(no_args_is_help=True, help="Tokens that let callers in.")
app.add_typer(token, name="token")

Name = Annotated[str, typer.Option("--name", help="Who acts with it, as histories will say.")]
# The words of models.base.Role, which takes seconds to load.
Role = Annotated[
    Literal["VIEWER", "REVIEWER", "OPERATOR", "ADMIN"],
    typer.Option("--role", help="What it allows.", case_sensitive=False),
]
Expires = Annotated[
    str | None, typer.Option("--expires", metavar="INSTANT", help="Its end, such as 2027-01-01T00:00:00Z.")
]
Json = Annotated[bool, typer.Option("--json", help="Print name, role and secret as JSON.")]


@token.command()
def create(name: Name, role: Role, expires: Expires = None, as_json: Json = False) -> None:
    """Make a token and print its secret, which nobody can ask for again."""
    import orjson

    from server.opening import opened

    end = instant(expires)
    secret = opened(lambda to: make(to, name, role, end))
    print(orjson.dumps({"name": name, "role": role, "secret": secret}).decode() if as_json else secret)


def instant(expires: str | None) -> "datetime | None":
    from resolvers import forms

    end = forms.instant(expires)
    if expires is not None and end is None:
        raise typer.BadParameter("an instant with an offset is needed, such as 2027-01-01T00:00:00Z")
    return end


async def make(to: "Opened", name: str, role: str, end: "datetime | None") -> str:
    from models.base import Role
    from resolvers import access
    from resolvers.acting import Acting
    from resolvers.errors import RuleError
    from server.refusal import Fault, Refusal

    try:
        async with to.connection.begin():
            acting = Acting(to.connection, ACTOR)
            key, secret = await access.create(acting, name, Role(role), end)
            await acting.note("create_api_token", f"ApiToken:{key}")
            return secret
    except RuleError as error:
        code = getattr(error, "code", None) or type(error).__name__.upper()
        raise Refusal(Fault(name, code, error.message)) from error
