"""The gates to the machine, one set for a server; each is opened when it is first needed."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from .commands import Commands

if TYPE_CHECKING:
    # The HTTP client takes long to load, and is not needed to answer the first messages.
    from .net import Net, NetSettings
    from .workers import Workers


@dataclass
class NetRules:
    """What the user allows of the network, as given at the start; `NetSettings` has the meaning of each.

    Raises:
        BursarError: `bad_setting`, from `settings`, for a rule that cannot be followed.
    """

    allow: tuple[str, ...] = ()
    proxy: str = ""
    obeys_robots: bool = True

    def settings(self) -> "NetSettings":
        """Read the rules."""
        from .addresses import AllowNet
        from .net import NetSettings

        return NetSettings(allow=AllowNet.parse(self.allow), proxy=self.proxy or None, obeys_robots=self.obeys_robots)


@dataclass
class Gates:
    """What tools reach the machine through, beside the workspace of their caller.

    Attributes:
        commands: starts programs.
        rules: what the user allows of the network.
    """

    commands: Commands
    rules: NetRules = field(default_factory=NetRules)

    @cached_property
    def net(self) -> "Net":
        """The way out to the network."""
        from .net import Net

        return Net(self.rules.settings())

    @cached_property
    def workers(self) -> "Workers":
        """Processes for parsing what nobody trusts."""
        from .workers import Workers

        return Workers()

    def close(self) -> None:
        """End everything that runs behind the gates."""
        self.commands.close()
        if "workers" in self.__dict__:
            self.workers.close()
