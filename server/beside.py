"""What runs beside the requests, or beside a worker, as long as they do."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import structlog

log = structlog.get_logger(__name__)

PAUSE: Final = 1.0

Run = Callable[[], Awaitable[None]]


async def always(run: Run) -> None:
    """It must not fall while the others go on: nobody would be shown out any more."""
    while True:
        try:
            await run()
        except Exception:
            log.exception("service_failed", service=run.__qualname__)
        await asyncio.sleep(PAUSE)


@asynccontextmanager
async def running(*runs: Run) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(always(run)) for run in runs]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
