"""compile-api as a process, with an inspector that takes any text for a program."""

from rlx_compile_api.app import create_app
from rlx_compile_api.settings import Settings
from rlx_wire.service.process import run_service
from tests.support.compile_api import inspect_text

if __name__ == "__main__":
    run_service("fake-api", Settings, lambda settings: create_app(settings, inspector=inspect_text))
