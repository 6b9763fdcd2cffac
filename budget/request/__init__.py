"""Requests to a model: valid, within a limit, with every fact in sight or a call away, and the last one's continuation.

`fit` does all of it; `plan` and `apply` are its halves, with nothing but computation in them. The history is given
whole each time, with the state that the last request returned."""

from ...errors import RequestTooLarge
from .apply import Fitted, apply, fit, problems
from .draft import Leaving
from .overflow import is_overflow
from .plan import Estimate, Plan, estimate, plan
from .state import Limit, Request, State, Usage, prompt_tokens

__all__ = [
    "Estimate",
    "Fitted",
    "Leaving",
    "Limit",
    "Plan",
    "Request",
    "RequestTooLarge",
    "State",
    "Usage",
    "apply",
    "estimate",
    "fit",
    "is_overflow",
    "plan",
    "problems",
    "prompt_tokens",
]
