import ipaddress
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from server.refusal import Fault, WrongUsage

PREFIX = "ASSAY_"


class Settings(BaseSettings):
    """Every setting is an environment variable ASSAY_…, described in docs/configuration.md."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True)

    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port to listen on; 0 takes any free one.")
    data_dir: Path = Field(default=Path(".assay"), description="Where the embedded Postgres and the files live.")
    database_url: str | None = Field(default=None, description="A Postgres 16 or later; unset runs an embedded one.")
    read_database_url: str | None = Field(default=None, description="Where queries read; unset reads the same one.")
    listen_database_url: str | None = Field(
        default=None, description="Where announcements are heard, past a pooler of transactions; unset is the same one."
    )
    read_connections: int = Field(default=16, ge=1, description="Most connections of one process for queries.")
    write_connections: int = Field(default=8, ge=1, description="Most connections of one process for mutations.")
    files_url: str | None = Field(
        default=None, description="s3://, gs://, az:// or file://; unset keeps files in data."
    )
    largest_upload: int = Field(default=64 * 1024 * 1024, ge=0, description="Most bytes of a file sent to /files.")
    model_keys: str | None = Field(
        default=None, description="Variables that may hold keys of models, such as OPENAI_*,GROQ_API_KEY; unset is any."
    )
    model_urls: str | None = Field(
        default=None, description="URLs that models may be called under, between commas; unset is any."
    )
    worker: bool = Field(default=True, description="Whether serve runs a worker beside the requests.")
    worker_concurrency: int = Field(default=64, ge=1, description="Most items of runs that one worker holds at once.")
    worker_connections: int = Field(default=4, ge=2, description="Most connections of one worker.")
    call_timeout: float = Field(default=120, gt=0, description="Seconds that one request to a model may take.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="Least level logged.")
    log_format: Literal["auto", "text", "json"] = Field(default="auto", description="auto is text on a terminal.")
    shutdown_seconds: int = Field(default=5, ge=0, description="How long a stop waits for running requests.")

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise WrongUsage(*faults(error)) from error

    @property
    def is_local(self) -> bool:
        """Whether nobody but this machine can reach the address."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def faults(error: ValidationError) -> list[Fault]:
    return [
        Fault(PREFIX + "_".join(str(part) for part in found["loc"]).upper(), "INVALID_SETTING", found["msg"])
        for found in error.errors(include_input=False)
    ]
