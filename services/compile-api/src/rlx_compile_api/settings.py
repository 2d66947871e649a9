"""The settings of compile-api."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import Field

from rlx_wire.service.settings import BindAddress, ServiceSettings

__all__ = ["Settings"]

_MIB: Final = 1 << 20


class Settings(ServiceSettings):
    """compile-api of RLX: uploads, models, compile jobs, artifacts, deployments and profiles."""

    bind_addr: BindAddress = Field("127.0.0.1:8000", description="HOST:PORT to listen on")
    data_folder: Path = Field(Path(".rlx/compile-api"), description="uploads, artifacts and the SQLite file")
    database_url: str = Field(
        "", description="sqlite:///PATH or postgresql+psycopg://…; empty: a file in the data folder"
    )
    redis_url: str = Field("redis://127.0.0.1:6379/0", description="the broker of the compile workers")
    scheduler_url: str = Field("http://127.0.0.1:8080", description="where /v2 and /v1/infer are passed on to")
    gss_url: str | None = Field(None, description="where the CPUs of the nodes are asked for")
    web_folder: Path | None = Field(None, description="the page: static files, or where they are built")

    fallback_cpu: str = Field("x86-64-v3", description="CPU level of a job that names none, with no node known")
    lease_seconds: float = Field(3.0, gt=0, description="how long an attempt lives without a heartbeat")
    max_losses: int = Field(5, ge=1, description="losses after which a task fails")
    reconcile_seconds: float = Field(0.5, gt=0, description="how often lost attempts and messages are looked for")
    republish_seconds: float = Field(2.0, gt=0, description="age of a message before it can count as lost")
    sweep_seconds: float = Field(3600.0, gt=0, description="how often files that nothing names are looked for")
    unnamed_seconds: float = Field(86400.0, ge=3600, description="age from which a file that nothing names is removed")

    requests_per_second: float = Field(1000.0, ge=0, description="from one caller; 0: as many as they like")
    request_burst: int = Field(2000, ge=1, description="requests that one caller may send at once")
    max_body_bytes: int = Field(_MIB, gt=0, description="limit of a JSON body")
    max_upload_bytes: int = Field(4096 * _MIB, gt=0, description="limit of a model or an artifact")
    max_profile_bytes: int = Field(64 * _MIB, gt=0, description="limit of a profile")
    max_inference_bytes: int = Field(256 * _MIB, gt=0, description="limit of an inference request")
    inspect_seconds: float = Field(60.0, gt=0, description="time to read and verify an upload")
    inspect_bytes: int = Field(8192 * _MIB, gt=0, description="address space to read and verify an upload")

    @property
    def database(self) -> str:
        return self.database_url or f"sqlite:///{self.data_folder.absolute() / 'compile-api.sqlite3'}"
