import asyncio

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from server.database import UNREACHABLE, Database, DatabaseUnavailable

PATIENCE = 5.0


async def healthz(_request: Request) -> Response:
    return PlainTextResponse("ok")


async def ask(database: Database) -> None:
    async with asyncio.timeout(PATIENCE):
        await database.reads.fetchval("SELECT 1")
        async with database.engine.connect() as connection:
            await connection.execute(text("SELECT 1"))


async def readyz(request: Request) -> Response:
    """Ready to answer: both ways to the database work."""
    try:
        await ask(request.app.state.database)
    except (*UNREACHABLE, DatabaseUnavailable, SQLAlchemyError):
        return PlainTextResponse("database unavailable", status_code=503)
    return PlainTextResponse("ok")


routes = [Route("/healthz", healthz), Route("/readyz", readyz)]
