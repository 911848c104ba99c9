import json
import logging
from collections.abc import Iterator
from typing import Literal

import httpx2
import pytest
import structlog

from server.logs import configure_logs
from server.settings import Settings


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def test_our_events_and_those_of_libraries_leave_in_one_form(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Settings(log_format="json", log_level="info"))

    structlog.get_logger("ours").info("imported", agents=3)
    logging.getLogger("theirs").warning("slow by %d ms", 7)
    structlog.get_logger("ours").debug("too small to tell")

    first, second = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert {"event": "imported", "agents": 3, "level": "info", "logger": "ours"}.items() <= first.items()
    assert {"event": "slow by 7 ms", "level": "warning", "logger": "theirs"}.items() <= second.items()


@pytest.mark.parametrize(("level", "lines"), [("info", 0), ("debug", 1)])
def test_calls_of_models_are_told_one_by_one_only_to_who_looks_closely(
    capsys: pytest.CaptureFixture[str], level: Literal["info", "debug"], lines: int
) -> None:
    configure_logs(Settings(log_level=level))

    with httpx2.Client(transport=httpx2.MockTransport(lambda request: httpx2.Response(200))) as client:
        client.post("http://127.0.0.1/v1/chat/completions")

    assert capsys.readouterr().err.count("chat/completions") == lines
