"""What docker-compose.yml promises of every container, read from the file: `make compose-test` sees it in real ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docker-compose.yml").read_text()
STACK = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = STACK["services"]
OURS = {name for name, service in SERVICES.items() if "build" in service}
RECIPE = (ROOT / "infra/docker/Dockerfile").read_text()

each_service = pytest.mark.parametrize("name", SERVICES)


def test_the_stack_is_all_there() -> None:
    assert set(SERVICES) == {
        *("redis", "postgres", "gss", "compile-api", "scheduler", "compile-worker", "node", "worker-gpu")
    }
    assert [name for name, service in SERVICES.items() if "profiles" in service] == ["worker-gpu"]


@each_service
def test_a_container_can_do_little(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "network_mode", "pid", "ipc"} & set(service)
    assert service.get("user", "root") not in {"root", "0"} or name in OURS
    limits = service["deploy"]["resources"]["limits"]
    assert set(limits) == {"memory", "pids"}


def test_our_images_end_as_a_user_without_rights() -> None:
    stages = re.split(r"^FROM ", RECIPE, flags=re.MULTILINE)[1:]
    named = {re.search(r"AS (\S+)", stage)[1]: stage for stage in stages}
    assert re.search(r"^USER 10001:10001$", named["service"], re.MULTILINE)
    assert "USER" not in named["compile-api"]
    assert {SERVICES[name]["build"]["target"] for name in OURS} == {"service", "compile-api"}
    # What knows the index, and could know a password in it, is not among what is shipped.
    assert "INDEX" in named["uv"]
    assert not any("INDEX" in named[shipped] for shipped in ("service", "compile-api"))


@each_service
def test_a_container_says_whether_it_is_well_and_ends_when_told(name: str) -> None:
    service = SERVICES[name]
    assert service["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
    assert service["restart"] == "unless-stopped"
    assert service["init"] is True
    assert service["stop_grace_period"] == "30s"


@each_service
def test_a_service_starts_when_what_it_needs_is_healthy(name: str) -> None:
    needs = SERVICES[name].get("depends_on", {})
    assert all(need == {"condition": "service_healthy"} for need in needs.values())
    assert bool(needs) == (name in OURS)


def test_no_secret_is_written_down_and_none_has_a_default() -> None:
    secrets = {"RLX_API_KEY", "REDIS_PASSWORD", "POSTGRES_PASSWORD"}
    asked = set(re.findall(r"\$\{(\w+):\?[^}]+\}", TEXT))
    assert asked == secrets
    for name, service in SERVICES.items():
        for variable, value in service.get("environment", {}).items():
            if re.search("KEY|PASSWORD|SECRET|TOKEN", variable):
                assert re.fullmatch(r"\$\{\w+:\?[^}]+\}", value), f"{name}: {variable}"
            for password in re.findall(r"://\w*:([^@]+)@", value):
                assert re.fullmatch(r"\$\{\w+\}", password), f"{name}: {variable}"


def test_only_compile_api_is_published_and_only_it_reaches_the_database() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["compile-api"]
    assert SERVICES["compile-api"]["ports"][0].startswith("${RLX_BIND:-127.0.0.1}:")
    on = {network: {name for name, s in SERVICES.items() if network in s["networks"]} for network in STACK["networks"]}
    assert on["public"] == {"compile-api"}
    assert on["database"] == {"postgres", "compile-api"}
    assert on["broker"] == {"redis", "gss", "compile-api", "compile-worker"}
    assert [name for name, network in STACK["networks"].items() if not (network or {}).get("internal")] == ["public"]


def test_a_service_runs_a_program_that_its_package_installs() -> None:
    installed = {
        line.split("=")[0].strip()
        for pyproject in ROOT.glob("services/*/pyproject.toml")
        for line in pyproject.read_text().splitlines()
        if line.startswith("rlx-") and "main" in line
    }
    for name in OURS:
        words = " ".join(SERVICES[name]["command"])
        assert re.search(r"\brlx-[a-z-]+", words)[0] in installed
        package = SERVICES[name]["build"]["args"]["PACKAGE"].partition("[")[0]
        assert (ROOT / "services" / package.removeprefix("rlx-") / "pyproject.toml").is_file()


def test_what_is_pulled_has_a_stand_in() -> None:
    script = (ROOT / "infra/docker/stand-in/make.sh").read_text()
    pulled = {service["image"] for name, service in SERVICES.items() if name not in OURS}
    pulled.add(re.search(r"^ARG PYTHON=(\S+)$", RECIPE, re.MULTILINE)[1])
    assert all(re.search(rf"{re.escape(image)}\b", script) for image in pulled)
