"""The statements that mutations send, besides what the engine reads of their payloads."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from tests.rules.house import House


@contextmanager
def statements(house: House) -> Iterator[list[str]]:
    sent: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        # Watchers are told by others, at some time after it.
        if "pg_notify" not in statement:
            sent.append(statement)

    engine = house.services.database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(engine, "before_cursor_execute", note)
