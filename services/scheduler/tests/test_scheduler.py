"""The scheduler is an actor of a cluster that has no device."""

from __future__ import annotations

from pathlib import Path

from rlx_node.app import create_actor
from rlx_node.settings import NodeSettings
from rlx_scheduler.main import SchedulerSettings


def test_it_belongs_to_a_cluster_and_has_a_name_and_a_port_of_its_own() -> None:
    settings = SchedulerSettings()
    assert settings.cluster.mode == "distributed"
    assert settings.bind_addr.endswith(":8080")
    assert settings.node != NodeSettings().node


async def test_it_has_no_device_and_is_not_ready_alone(tmp_path: Path) -> None:
    actor = create_actor(SchedulerSettings.model_validate({"data_folder": tmp_path}), kinds=())
    assert actor.record().devices == ()
    assert not actor.ready
    await actor.close()
