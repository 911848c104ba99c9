"""Waiting for what happens elsewhere, as long as it needs and no longer."""

import asyncio
from collections.abc import Awaitable, Callable


async def eventually(true: Callable[[], Awaitable[bool]], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not await true():  # noqa: ASYNC110 -- what is waited for happens in another process
            await asyncio.sleep(0.02)
