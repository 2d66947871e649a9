"""Models and their versions."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import String, cast
from sqlmodel import Session, col, func, select

from rlx_base.errors import RequestError
from rlx_compile_api.inspection import Inspected
from rlx_compile_api.repository.paging import page
from rlx_compile_api.tables import ModelRow, VersionRow
from rlx_wire.api import Model, ModelVersion, Page, SourceFile, TensorInfo

__all__ = ["add_version", "check_source", "get_model", "get_version", "list_models", "list_versions"]


def add_version(
    session: Session, model: str, program: Inspected, source: tuple[SourceFile, ...], now: float
) -> tuple[ModelVersion, bool]:
    """The version of `model` that is this program, and whether it is new."""
    known = session.exec(
        select(VersionRow).where(VersionRow.model == model, VersionRow.program_digest == program.program_digest)
    ).first()
    if known:
        return _version(known), False
    if session.get(ModelRow, model) is None:
        session.add(ModelRow(name=model, created_at=now))
        session.flush()
    row = VersionRow(
        model=model,
        version=(_latest(session, model) or 0) + 1,
        module=program.module,
        program_digest=program.program_digest,
        meaning_digest=program.meaning_digest,
        inputs=[tensor.model_dump(mode="json") for tensor in program.inputs],
        outputs=[tensor.model_dump(mode="json") for tensor in program.outputs],
        source=[file.model_dump(mode="json") for file in source],
        created_at=now,
    )
    session.add(row)
    session.flush()
    return _version(row), True


def get_version(session: Session, model: str, version: int | None = None) -> ModelVersion:
    """A version, or the latest. Raises E430."""
    number = version if version is not None else _latest(session, model)
    row = session.get(VersionRow, (model, number)) if number is not None else None
    if row is None:
        what = f"model {model!r}" if version is None else f"version {version} of model {model!r}"
        raise RequestError("E430", what=what, hint="`rlx models` lists the models and their versions")
    return _version(row)


def list_versions(session: Session, model: str, cursor: str | None, limit: int) -> Page[ModelVersion]:
    """The newest first. Raises E430 for a model that is not there."""
    get_model(session, model)
    query = select(VersionRow).where(VersionRow.model == model)
    return page(session, query, [col(VersionRow.version)], _version, cursor, limit)


def get_model(session: Session, name: str) -> Model:
    """Raises E430."""
    row = session.get(ModelRow, name)
    if row is None:
        raise RequestError("E430", what=f"model {name!r}", hint="`rlx models` lists the models")
    return _model(session, row)


def check_source(session: Session, digest: str) -> None:
    """Raises E430 where no version has a file of this digest."""
    known = select(VersionRow.model).where(cast(VersionRow.source, String).contains(digest)).limit(1)
    if session.exec(known).first() is None:
        raise RequestError("E430", what=f"source {digest}", hint="a version lists the files of its source")


def list_models(session: Session, cursor: str | None, limit: int) -> Page[Model]:
    keys = [col(ModelRow.created_at), col(ModelRow.name)]
    return page(session, select(ModelRow), keys, lambda row: _model(session, row), cursor, limit)


def _latest(session: Session, model: str) -> int | None:
    return session.exec(select(func.max(VersionRow.version)).where(VersionRow.model == model)).one()


def _model(session: Session, row: ModelRow) -> Model:
    created = datetime.fromtimestamp(row.created_at, UTC)
    return Model(name=row.name, latest_version=_latest(session, row.name) or 0, created_at=created)


def _version(row: VersionRow) -> ModelVersion:
    return ModelVersion(
        model=row.model,
        version=row.version,
        module=row.module,
        program_digest=row.program_digest,
        meaning_digest=row.meaning_digest,
        inputs=tuple(TensorInfo.model_validate(tensor) for tensor in row.inputs),
        outputs=tuple(TensorInfo.model_validate(tensor) for tensor in row.outputs),
        source=tuple(SourceFile.model_validate(file) for file in row.source),
        created_at=datetime.fromtimestamp(row.created_at, UTC),
    )
