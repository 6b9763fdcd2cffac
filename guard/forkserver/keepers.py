"""Forks a keeper for each command: the fork server of a session."""

import contextlib
import errno
import os
import select
import socket
import sys
from typing import TYPE_CHECKING

if sys.platform == "win32":
    raise ImportError("Windows has job objects instead")

from . import wire
from .keeper import Keeper
from .processes import adopt_orphans, name_process
from .server import ForkServer, serve

if TYPE_CHECKING:
    from .standing import Standing
    from .walls import Plan, Prepared

FILES = 4
"""That come with the order to fork: control, output, stdin, script, and perhaps one for errors."""

LOOK_S = 0.5
"""Between two looks at the view while commands run: the kernel tells at once what was unmounted, and not what was
renamed."""


class Keepers(ForkServer):
    """Forks keepers, and takes over from a keeper that was itself killed."""

    def __init__(
        self, orders: socket.socket, server: "int | None", plan: "Plan | None", standing: "Standing | None"
    ) -> None:
        """Take note of what to do.

        Args:
            orders: from the server.
            server: see `ForkServer`.
            plan: of the walls around commands; None for none.
            standing: of the view that this process is in; None if it is in none.
        """
        super().__init__(orders, server, are_tidy=True)
        self.plan = plan
        self.standing = standing
        if standing is not None:
            self.poll.register(standing.fd, select.POLLPRI)

    def pause_ms(self) -> "float | None":
        """Look at the view while commands run."""
        return None if self.standing is None or not self.children else LOOK_S * 1000

    def may_go_on(self) -> bool:
        """Tell whether commands do not see what is hidden from them."""
        return self.standing is None or self.standing.covers()

    def obey(self, order: wire.Message, files: "list[int]") -> None:
        """Fork a keeper; where the system refuses, the end of its control socket tells the server."""
        if "fork" not in order or len(files) not in (FILES, FILES + 1):
            return
        if self.standing is not None and not self.standing.stands():
            with contextlib.suppress(OSError):
                os.write(files[0], wire.packed({"failed": "view", "errno": 0}))
            return
        walls = self._walls()
        self.fork(order["fork"], lambda: self._keep(files, walls))

    def _walls(self) -> "Prepared | OSError | None":
        try:
            return None if self.plan is None else self.plan.prepared()
        except OSError as error:
            return error
        except ValueError:
            return OSError(errno.EINVAL, "")

    def _keep(self, files: "list[int]", walls: "Prepared | OSError | None") -> int:
        """Keep one command; return 0 if nothing of it is left."""
        adopt_orphans()
        name_process(b"bursar-keeper")
        control, output, stdin, script, *errors = files
        keeper = Keeper(socket.socket(fileno=control), output, self.server, walls)
        return 0 if keeper.run(stdin, script, errors[0] if errors else None) else 1


def _keepers(orders: socket.socket, server: "int | None", told: wire.Message) -> Keepers:
    """Take on the view, if there is one and nobody else has made it."""
    if told["walls"] is None:
        return Keepers(orders, server, None, None)
    from .walls import Plan

    standing = None
    if told["view"] is not None:
        from .standing import Standing
        from .view import View

        view = View.told(told["view"])
        if told["enter"]:
            from .namespaces import enter

            enter(view)
        standing = Standing(view, told["walls"]["hidden"])
    return Keepers(orders, server, Plan(told["walls"]), standing)


def main() -> None:
    """Serve; what is told are the view of this process, whether it makes that itself, and the walls for commands."""
    serve("bursar-zygote", _keepers)
