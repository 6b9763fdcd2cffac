import gzip
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import ClassVar

import pytest
from bursar.errors import BursarError
from bursar.guard.fair import FairQueue
from bursar.server.config import Settings
from bursar.server.http.admission import Admission
from bursar.server.http.app import watch_all
from bursar.server.telemetry import Telemetry
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from over_http import served
from prometheus_client.parser import text_string_to_metric_families


@pytest.fixture(scope="module")
def counted(root, tmp_path_factory):
    with served("--telemetry", "prometheus", root=root, data=tmp_path_factory.mktemp("data")) as running:
        yield running


def metrics(running):
    """Return every sample, by its name and labels."""
    answer = running.user(running.token).http.get(f"{running.base}/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


class TestMetrics:
    def test_a_call_is_counted_by_tool_and_outcome_with_what_it_kept_from_the_context(self, counted):
        user = counted.user(counted.token)
        before = metrics(counted)
        reply = user.done("terminal", command="seq 1 200000")
        user.refused("read_artifact", artifact="ses_0000000000000000000000/a1")
        after = metrics(counted)
        assert after["bursar_calls_total", ("outcome", "ok"), ("tool", "terminal")] == 1
        assert after["bursar_calls_total", ("outcome", "unknown_artifact"), ("tool", "read_artifact")] == 1
        written = after["bursar_artifact_bytes_total", ("tool", "terminal")]
        assert written == reply["size"]["bytes"] == 1_288_895
        replied = after["bursar_reply_bytes_total", ("tool", "terminal")]
        assert 0 < replied < 8192
        assert after["bursar_withheld_bytes_total", ("tool", "terminal")] == written - replied
        assert after["bursar_partial_replies_total", ("tool", "terminal")] == 1
        assert after["bursar_call_seconds_count", ("tool", "terminal")] == 1
        assert after["bursar_store_bytes",] >= before["bursar_store_bytes",] >= 0
        assert after["bursar_http_responses_total", ("status", "200")] >= 3

    def test_what_there_is_now_is_told(self, counted):
        user = counted.user(counted.token).handshake()
        began = user.done("terminal", command="sleep 60", background=True)
        now = metrics(counted)
        assert now["bursar_open_sessions",] == 1
        assert now["bursar_commands",] == 1
        assert now["bursar_calls_in_flight",] == 0
        user.done("terminal", artifact=began["artifact"], stop=True)
        user.http.delete(counted.url, headers={"accept": "application/json"} | user.routing())
        now = metrics(counted)
        assert now["bursar_open_sessions",] == 0
        assert now["bursar_commands",] == 0

    def test_no_content_no_handle_no_name_is_told(self, counted, root):
        user = counted.user(counted.token)
        reply = user.done("terminal", command="echo very-private-words")
        user.done("read_file", path="note.txt")
        user.modern("tools/call", {"name": "secret-tool-name", "arguments": {}})
        user.modern("secret/method")
        text = user.http.get(f"{counted.base}/metrics").text
        handle = reply["artifact"].partition("/")[0]
        for private in ("very-private-words", handle, "note.txt", str(root), "secret", counted.token, "local"):
            assert private not in text
        labels = set(re.findall(r'([a-z_]+)="', text))
        assert labels <= {"tool", "outcome", "le", "status", "version", "limit"}

    def test_it_takes_a_token(self, counted):
        assert counted.user().http.get(f"{counted.base}/metrics").status_code == 401

    def test_it_is_not_there_unless_asked_for(self, open_server):
        assert open_server.user().http.get(f"{open_server.base}/metrics").status_code == 404

    def test_limits_that_were_hit_are_counted(self, counted):
        counted.user(counted.token).http.post(counted.url, content=b"x" * 5_000_000)
        now = metrics(counted)
        assert now["bursar_limit_hits_total", ("limit", "body_bytes")] == 1
        assert now["bursar_http_responses_total", ("status", "413")] == 1


class Collector(BaseHTTPRequestHandler):
    """Takes what is sent to it, as OpenTelemetry's collector does."""

    taken: ClassVar[list[tuple[str, bytes]]] = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.taken.append((self.path, gzip.decompress(body) if self.headers["content-encoding"] == "gzip" else body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        """Say nothing."""


def test_metrics_and_spans_arrive_at_a_collector_over_otlp(root, tmp_path, monkeypatch):
    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as collector:
        threading.Thread(target=collector.serve_forever).start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.server_port}")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        with served("--no-auth", "--telemetry", "otlp", root=root, data=tmp_path) as running:
            running.user().done("read_file", path="note.txt")
            running.end()
        collector.shutdown()
    sent = {path: body for path, body in Collector.taken if b"read_file" in body}
    (resource,) = ExportMetricsServiceRequest.FromString(sent["/v1/metrics"]).resource_metrics
    metrics = {metric.name: metric for scope in resource.scope_metrics for metric in scope.metrics}
    (calls,) = metrics["bursar.calls"].sum.data_points
    assert {label.key: label.value.string_value for label in calls.attributes} == {"tool": "read_file", "outcome": "ok"}
    assert calls.as_int == 1
    assert {"bursar.call.seconds", "bursar.reply.bytes", "bursar.info"} <= metrics.keys()
    assert b"tools/call read_file" in sent["/v1/traces"]


def test_standard_input_and_output_never_load_what_only_metrics_need():
    code = "import bursar.server.stdio, sys; print({'prometheus_client', 'opentelemetry.sdk'}.isdisjoint(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert loaded.strip() == "True"


def test_without_the_optional_packages_it_is_said_which_are_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(BursarError, match=r"--telemetry needs .*bursar\[otel\]") as missing:
        Telemetry(Settings(telemetry=("prometheus",)))
    assert missing.value.code == "otel_missing"


def test_processes_that_take_contents_apart_for_replies_are_counted_too():
    dispatcher = SimpleNamespace(
        workers=SimpleNamespace(running=2),
        fitter=SimpleNamespace(workers=SimpleNamespace(running=3)),
        commands=SimpleNamespace(running=0),
    )
    telemetry = Telemetry(Settings(telemetry=("prometheus",)))
    watch_all(telemetry, dispatcher, Admission(FairQueue(1, 1, 1)), [])
    assert telemetry.registry.get_sample_value("bursar_parser_processes") == 5
