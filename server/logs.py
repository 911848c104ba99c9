import logging
import sys
from typing import Any

import structlog

from server.settings import Settings

SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def renderers(settings: Settings) -> list[Any]:
    as_text = settings.log_format == "text" or (settings.log_format == "auto" and sys.stderr.isatty())
    if as_text:
        # The other formatters show local variables, and so secrets.
        plain = structlog.dev.plain_traceback
        return [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)]
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]


def configure_logs(settings: Settings) -> None:
    """Our events and those of libraries leave by one handler, in one form."""
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=SHARED,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers(settings)],
        )
    )
    logging.basicConfig(handlers=[handler], level=settings.log_level.upper(), force=True)
    # They greet at every start; we print the address ourselves.
    for greeter in ("uvicorn.error", "alembic.runtime.migration"):
        logging.getLogger(greeter).setLevel(logging.WARNING)
    # It tells of every request, and so of every call of a model: for who looks closely.
    caller = logging.getLogger("httpx2")
    caller.setLevel(logging.NOTSET if settings.log_level == "debug" else logging.WARNING)
