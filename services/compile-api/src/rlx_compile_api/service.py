"""The parts of a running compile-api, wired together once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated

import httpx
from fastapi import Depends, Request

from rlx_cluster.jobs import Policy
from rlx_compile_api.attempts import Attempts
from rlx_compile_api.bell import Bell
from rlx_compile_api.blobs import BlobStore
from rlx_compile_api.broker import Broker, CeleryBroker
from rlx_compile_api.database import Database
from rlx_compile_api.inspection import ChildInspector, Inspector
from rlx_compile_api.keys import Keys
from rlx_compile_api.levels import levels_from_gss
from rlx_compile_api.orchestration import Orchestration
from rlx_compile_api.profiles import Profiles
from rlx_compile_api.publisher import Publisher
from rlx_compile_api.reconciler import Reconciler
from rlx_compile_api.sessions import Sessions
from rlx_compile_api.settings import Settings
from rlx_compile_api.submission import Submission
from rlx_compile_api.sweeper import Sweeper
from rlx_compile_api.uploads import Programs, Uploads
from rlx_wire.service.keys import bearer

__all__ = ["COMPILER_VERSION", "Held", "Service"]

# All packages of a release have one version, so the compiler's is known here without the compiler.
COMPILER_VERSION = version("rlx-wire")


@dataclass(frozen=True, slots=True)
class Service:
    """What routes call."""

    settings: Settings
    clock: Callable[[], float]
    database: Database
    blobs: BlobStore
    bell: Bell
    broker: Broker
    orchestration: Orchestration
    publisher: Publisher
    reconciler: Reconciler
    sweeper: Sweeper
    submit: Submission
    attempts: Attempts
    upload: Uploads
    program: Programs
    keep_profile: Profiles
    keys: Keys
    sessions: Sessions | None
    gss: httpx.Client

    @classmethod
    def build(
        cls,
        settings: Settings,
        broker: Broker | None = None,
        clock: Callable[[], float] = time.time,
        inspector: Inspector | None = None,
    ) -> Service:
        """Wires the parts; nothing runs yet and no connection is made."""
        database, bell = Database(settings.database), Bell()
        blobs = BlobStore(settings.data_folder)
        broker = broker or CeleryBroker(settings.redis_url)
        publisher = Publisher(database, broker, clock)

        def changed() -> None:
            bell.ring()
            publisher.wake()

        policy = Policy(lease=settings.lease_seconds, max_losses=settings.max_losses)
        orchestration = Orchestration(database, policy, clock, changed)

        def fallback() -> str:
            return settings.fallback_cpu

        gss = httpx.Client(base_url=settings.gss_url or "", headers=bearer(settings.key), timeout=1.0)
        choose = levels_from_gss(gss, settings.fallback_cpu) if settings.gss_url else fallback
        inspector = inspector or ChildInspector(settings.inspect_seconds, settings.inspect_bytes)
        return cls(
            settings=settings,
            clock=clock,
            database=database,
            blobs=blobs,
            bell=bell,
            broker=broker,
            orchestration=orchestration,
            publisher=publisher,
            reconciler=Reconciler(
                orchestration,
                broker,
                interval=settings.reconcile_seconds,
                grace=settings.republish_seconds,
            ),
            sweeper=Sweeper(database, blobs, clock, interval=settings.sweep_seconds, grace=settings.unnamed_seconds),
            submit=Submission(orchestration, choose, COMPILER_VERSION),
            attempts=Attempts(orchestration, blobs),
            upload=Uploads(database, blobs, inspector, clock),
            program=Programs(database, blobs, inspector),
            keep_profile=Profiles(database, blobs, clock),
            keys=Keys(database, settings.key, clock),
            sessions=Sessions(settings.key) if settings.key is not None else None,
            gss=gss,
        )

    @contextmanager
    def running(self) -> Iterator[None]:
        """Migrates, then keeps publisher, reconciler and sweeper at work."""
        self.database.migrate()
        self.blobs.sweep()
        threads = [
            threading.Thread(target=self.publisher.run, name="publisher"),
            threading.Thread(target=self.reconciler.run, name="reconciler"),
            threading.Thread(target=self.sweeper.run, name="sweeper"),
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.sweeper.stop()
            self.reconciler.stop()
            self.publisher.stop()
            for thread in threads:
                thread.join()
            self.gss.close()
            self.broker.close()
            self.database.close()


def _held(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Held = Annotated[Service, Depends(_held)]
