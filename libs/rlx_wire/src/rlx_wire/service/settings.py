"""One way to configure: defaults, then a YAML file, then `RLX_` environment variables, then the command line.

A key that is not known is an error that names the nearest known one.
"""

from __future__ import annotations

import argparse
import difflib
import ipaddress
import sys
import types
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self
from urllib.parse import urlsplit

import yaml
from pydantic import AfterValidator, BaseModel, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from rlx_base.errors import ClusterError, RlxError

__all__ = [
    "BindAddress",
    "ProcessSettings",
    "Section",
    "ServiceSettings",
    "is_loopback",
    "refuse_open_doors",
    "split_address",
]


def split_address(address: str) -> tuple[str, int]:
    """`"127.0.0.1:9000"`, `"[::1]:9000"` → host and port. Raises ValueError."""
    parts = urlsplit(f"//{address}")
    if parts.hostname is None or parts.port is None:
        raise ValueError(f"{address!r} is not HOST:PORT")
    return parts.hostname, parts.port


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a socket bound to `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _checked_address(address: str) -> str:
    split_address(address)
    return address


BindAddress = Annotated[str, AfterValidator(_checked_address)]


class Section(BaseModel, extra="forbid", frozen=True):
    """A mapping within the settings."""


class ProcessSettings(BaseSettings):
    """What every process of RLX has. It adds its own fields and calls `load`."""

    model_config = SettingsConfigDict(
        env_prefix="RLX_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        cli_kebab_case=True,
        cli_implicit_flags=True,
        cli_hide_none_type=True,
        nested_model_default_partial_update=True,
    )

    api_key: SecretStr | None = Field(None, description="the key that every route but health asks for")
    log: str = Field("INFO", description="level of the log: DEBUG, INFO, WARNING, ERROR")

    _file: ClassVar[dict[str, Any]] = {}

    @classmethod
    def load(cls, program: str, argv: Sequence[str] | None = None) -> Self:
        """The settings of this process; `--config FILE` names the YAML file.

        Raises E505 for a file, variable or option that does not fit.
        """
        parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        parser.add_argument("--config", type=Path)
        known, rest = parser.parse_known_args(sys.argv[1:] if argv is None else argv)
        return cls.read(known.config, program=program, arguments=rest)

    @classmethod
    def read(cls, file: Path | None = None, *, program: str = "", arguments: Sequence[str] | None = None) -> Self:
        """The settings from a YAML file, the environment and `arguments`. Raises E505."""
        values = {} if file is None else _yaml(file)
        source = str(file) if file is not None else "from the environment"

        class Loaded(cls):  # type: ignore[misc, valid-type]
            _file = values
            model_config = SettingsConfigDict(cli_prog_name=program)

        Loaded.__doc__ = cls.__doc__
        try:
            loaded = Loaded(_cli_parse_args=None if arguments is None else list(arguments))
        except ValidationError as error:
            raise _unfit(cls, error, source) from None
        return typing.cast("Self", loaded)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, _Values(settings_cls, cls._file)

    @property
    def key(self) -> str | None:
        return self.api_key.get_secret_value() if self.api_key is not None else None


class ServiceSettings(ProcessSettings):
    """What every process has that listens."""

    bind_addr: BindAddress = Field("127.0.0.1:0", description="HOST:PORT to listen on")


class _Values(PydanticBaseSettingsSource):
    """What the YAML file held."""

    def __init__(self, settings_cls: type[BaseSettings], values: dict[str, Any]) -> None:
        super().__init__(settings_cls)
        self._values = values

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        return self._values.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        return self._values


def refuse_open_doors(settings: ServiceSettings) -> None:
    """Without a key a service listens on loopback only. Raises E505."""
    host, _ = split_address(settings.bind_addr)
    if settings.key is None and not is_loopback(host):
        raise ClusterError(
            "E505",
            where="bind_addr",
            what=f"{settings.bind_addr} is reachable from other machines and no key is set",
            hint="set RLX_API_KEY, or bind to 127.0.0.1",
        )


def _yaml(file: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(file.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ClusterError(
            "E505", where=str(file), what=f"cannot be read: {error}", hint="a YAML mapping is expected"
        ) from error
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ClusterError(
            "E505",
            where=str(file),
            what=f"holds a {type(values).__name__}",
            hint="a YAML mapping is expected",
        )
    return values


def _unfit(settings: type[BaseModel], error: ValidationError, source: str) -> RlxError:
    first = error.errors(include_url=False, include_context=False)[0]
    path = [str(part) for part in first["loc"]]
    where = f"{source}, {'.'.join(path)}" if path else source
    if first["type"] != "extra_forbidden":
        return ClusterError("E505", where=where, what=first["msg"], hint="`--help` lists the settings")
    known = _keys(settings, first["loc"][:-1])
    near = difflib.get_close_matches(path[-1], known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
    return ClusterError("E505", where=where, what="there is no such setting", hint=hint)


def _keys(model: Any, path: Sequence[int | str]) -> list[str]:
    """The names that a mapping at `path` below `model` may have."""
    for part in path:
        if isinstance(part, str):
            model = _section(model.model_fields[part].annotation)
    return sorted(model.model_fields)


def _section(annotation: Any) -> Any:
    """The section within `list[Section]`, `Section | None` …"""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return annotation
    inner = [_section(a) for a in typing.get_args(annotation)]
    return next((a for a in inner if isinstance(a, type) and issubclass(a, BaseModel)), None)
