"""The bundles on this node's disk: pulled by digest, checked to the last byte, there whole or not at all."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from pathlib import Path

import httpx

from rlx_base.errors import ClusterError
from rlx_wire.bundle import unpack_bundle

__all__ = ["BundleStore"]

_log = logging.getLogger("rlx.node")


class BundleStore:
    """A folder of bundles. A name that is there is a bundle that was verified when it came."""

    def __init__(self, folder: Path, http: httpx.AsyncClient, api: str | None) -> None:
        self._folder = folder
        self._http = http
        self._api = api
        folder.mkdir(parents=True, exist_ok=True)

    def directory(self, digest: str) -> Path:
        return self._folder / digest

    def digests(self) -> frozenset[str]:
        """What can be loaded from here."""
        return frozenset(path.parent.name for path in self._folder.glob("[0-9a-f]*/manifest.json"))

    async def pull(self, digest: str) -> None:
        """Fetches a bundle from compile-api.

        Raises E506 where it does not answer, E301–E307 for one that is not what its digest promises.
        """
        if self._api is None:
            raise ClusterError("E506", url="(none)", reason="cluster.api is not set")
        url = f"{self._api}/v1/artifacts/{digest}/bundle"
        try:
            # The archive goes to disk, never whole into memory: a bundle carries its weights.
            with tempfile.TemporaryFile(dir=self._folder) as archive:
                async with self._http.stream("GET", url) as answer:
                    answer.raise_for_status()
                    async for chunk in answer.aiter_bytes(1 << 20):
                        archive.write(chunk)
                archive.seek(0)
                await asyncio.to_thread(unpack_bundle, archive, self.directory(digest), digest)
        except httpx.HTTPError as error:
            raise ClusterError("E506", url=self._api, reason=str(error) or type(error).__name__) from error
        except OSError as error:
            raise ClusterError("E511", folder=self._folder, reason=error.strerror or str(error)) from error
        _log.info("pulled bundle %s", digest)
