"""The workspace keeps its own rules: packages are typed, and the locks are complete and portable."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MEMBERS = sorted(path.parent for folder in ("libs", "services") for path in (ROOT / folder).glob("*/pyproject.toml"))
LOCKS = ("requirements.lock", "models.lock", "trained.lock", "compose.lock", "web.lock")


def project(member: Path) -> dict[str, object]:
    return tomllib.loads((member / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_a_package_is_typed_and_says_what_it_is(member: Path) -> None:
    name = str(project(member)["name"]).replace("-", "_")
    package = member / "src" / name
    assert (package / "py.typed").is_file()
    assert (package / "__init__.py").read_text().startswith('"""')


def test_all_packages_have_one_version() -> None:
    assert len({project(member)["version"] for member in MEMBERS}) == 1


def test_import_rules_and_types_cover_every_package() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    names = {str(project(member)["name"]).replace("-", "_") for member in MEMBERS}
    assert set(tools["importlinter"]["root_packages"]) == names
    assert set(tools["mypy"]["mypy_path"]) == {f"{member.relative_to(ROOT)}/src" for member in MEMBERS}


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_pins_by_hash_and_names_no_place(lock: str) -> None:
    text = (ROOT / lock).read_text()
    pins = re.findall(r"^[a-z0-9].*(?:\n {4}--hash=.*)*", text, re.MULTILINE)
    assert pins
    assert all("==" in pin and "--hash=sha256:" in pin for pin in pins)
    assert not re.search(r"://|--(?:extra-)?index-url|--find-links|^-e", text, re.MULTILINE)


def test_every_dependency_is_in_the_lock() -> None:
    locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    ours = {project(member)["name"] for member in MEMBERS}
    for member in MEMBERS:
        for requirement in project(member)["dependencies"]:
            name = re.match(r"[a-zA-Z0-9-]+", requirement)[0].lower()
            assert name in ours | locked, f"{member.name} needs {name}: make lock"


def test_no_folder_of_tests_is_a_package_that_hides_the_shared_one() -> None:
    packages = [path for folder in ("libs", "services") for path in (ROOT / folder).glob("*/tests/**/__init__.py")]
    assert packages == [], "pytest would import it as `tests`, where `tests.support` is"
