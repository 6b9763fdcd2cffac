"""The gate to the network."""

from .addresses import AllowNet
from .cache import Cache, Entry
from .failures import Failure, Stage
from .net import Net, Reuse
from .response import Response
from .settings import Limits, NetSettings, Sink

__all__ = [
    "AllowNet",
    "Cache",
    "Entry",
    "Failure",
    "Limits",
    "Net",
    "NetSettings",
    "Response",
    "Reuse",
    "Sink",
    "Stage",
]
