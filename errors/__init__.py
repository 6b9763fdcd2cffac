"""The one exception of bursar: a stable code, what happened, and what to do."""


class BursarError(Exception):
    """A call that could not be done, told so that its reader can act.

    Attributes:
        code: stable snake_case name of the failure; programs may compare it.
        message: one line that says what happened and why, without a full stop.
        fix: one line that says what to do next, without a full stop.
    """

    def __init__(self, code: str, message: str, fix: str) -> None:
        super().__init__(f"{code}: {message}. {fix}.")
        self.code = code
        self.message = message
        self.fix = fix
