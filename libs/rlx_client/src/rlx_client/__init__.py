"""The light client of RLX: all that a program needs to ask for an inference."""

from rlx_client.async_client import AsyncRLXClient
from rlx_client.calls import Inference, Signature
from rlx_client.client import RLXClient
from rlx_client.timeouts import Timeouts

__all__ = ["AsyncRLXClient", "Inference", "RLXClient", "Signature", "Timeouts"]
