"""No test is skipped silently: the run ends with what was not run, why, and how to have it."""

import os
from collections import Counter

import needs
import pytest
from hypothesis import HealthCheck, settings

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
settings.register_profile("short", max_examples=20, deadline=None, suppress_health_check=_SLOW)
settings.register_profile("long", max_examples=1000, deadline=None, suppress_health_check=_SLOW)
settings.load_profile("short")


def pytest_configure(config):
    config.addinivalue_line("markers", "needs(name, ...): programs and rights without which a test is skipped")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    wanted = {name for mark in item.iter_markers("needs") for name in mark.args}
    wanting = sorted(filter(None, map(needs.wanting, wanted)))
    if wanting:
        pytest.skip("; ".join(wanting))


@pytest.fixture(scope="session")
def anyio_backend():
    return "asyncio"


def _is_ci():
    return os.environ.get("CI") == "true"


def _reasons(reporter):
    """Return why tests were not run, and how many each reason kept from it."""
    skipped = [report for report in reporter.stats.get("skipped", ()) if isinstance(report.longrepr, tuple)]
    return Counter(reason for report in skipped for reason in report.longrepr[2].removeprefix("Skipped: ").split("; "))


def _missing(reporter):
    return [need for need in needs.NEEDS if any(reason.startswith(f"{need}: ") for reason in _reasons(reporter))]


def _inexcusable(reporter):
    """Return what is missing where nothing may be but what `BURSAR_CI_MAY_LACK` lists, separated by commas."""
    allowed = {name.strip() for name in os.environ.get("BURSAR_CI_MAY_LACK", "").split(",")}
    return [need for need in _missing(reporter) if need not in allowed] if _is_ci() else []


def pytest_terminal_summary(terminalreporter):
    reasons = _reasons(terminalreporter)
    if not reasons:
        return
    terminalreporter.section("not run")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count:5}  {reason}")
    missing = _missing(terminalreporter)
    if programs := [need for need in missing if f"{need}: not installed" in reasons]:
        terminalreporter.line(f"To run these as well: {needs.fix(programs)}")
    if wrong := _inexcusable(terminalreporter):
        said = f"Failed for want of {', '.join(wrong)}: with CI=true only what BURSAR_CI_MAY_LACK lists may be missing."
        terminalreporter.line(said, red=True)
    elif _is_ci() and missing:
        terminalreporter.line(f"Done without, as BURSAR_CI_MAY_LACK allows: {', '.join(missing)}", yellow=True)


def pytest_sessionfinish(session):
    """Fail where nothing may be missing."""
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    if reporter and _inexcusable(reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
