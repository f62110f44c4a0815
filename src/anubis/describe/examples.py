"""One valid value for each field, shown in remedies, in the reference page and by editors.

Keys are field patterns (``fields.py``), values are as TOML yields them.
"""

import json
from typing import Any

from anubis.describe.fields import pattern_of
from anubis.describe.paths import Path, shown

_PROBE: dict[str, Any] = {
    "path": "/ping",
    "port": 8080,
    "scheme": "http",
    "initial_delay_seconds": 10,
    "period_seconds": 10,
    "timeout_seconds": 1,
    "success_threshold": 1,
    "failure_threshold": 3,
    "max_wait_seconds": 600,
    "command": "test -e /tmp/ready",
}
_SOURCE: dict[str, Any] = {
    "src": "s3://bucket/imagenet/train",
    "path": "/data/train",
    "id": "train",
    "digest": "md5:900150983cd24fb0d6963f7d28e17f72",
    "md5": "900150983cd24fb0d6963f7d28e17f72",
    "unpack": True,
    "compare": "content",
}
_METRIC: dict[str, Any] = {
    "name": "throughput",
    "units": "img/s",
    "pattern": r"Speed: ([-+]?\d*\.?\d+(?:[eE][-+]?\d+)?) samples/sec",
    "better": "higher",
    "summary": "mean",
    "ranks": "sum",
    "required": True,
    "threshold.min": 900.0,
    "threshold.max": 1200.0,
    "threshold.sigma": 2.0,
    "threshold.change": "5%",
    "threshold.min_effect": "2%",
}
_HARDWARE: dict[str, Any] = {"instance_type": "p3.8xlarge", "gpus": 4, "cpus": 16, "memory_gb": 64.0}


def _under(prefix: str, values: dict[str, Any]) -> dict[str, Any]:
    return {f"{prefix}.{key}": value for key, value in values.items()}


EXAMPLES: dict[str, Any] = {
    "spec_version": "1.0",
    "info.name": "resnet50-train",
    "info.description": "ResNet-50 on CIFAR-10, one GPU",
    "info.labels.*": "vision",
    "info.scheduling": "0 3 * * *",
    "info.timezone": "Europe/Berlin",
    "info.overlap": "skip",
    "info.execution_engine": "process",
    "info.priority": 10,
    "subject.repository": "https://github.com/org/model",
    "subject.commit": "auto",
    "subject.version": "2.1.0",
    **_under("hardware", _HARDWARE),
    "hardware.instance_type": "local",
    "hardware.strategy": "single_node",
    "hardware.availability_zone": "us-east-1a",
    "hardware.aws_zone_id": "use1-az2",
    "hardware.max_wait_s": 3600.0,
    "hardware.max_cost": "25 USD",
    "hardware.distributed.num_instances": 3,
    "hardware.distributed.processes_per_instance": "gpus",
    "env.docker_image": "user/repo:tag",
    "env.privileged": False,
    "env.extended_shm": True,
    "env.vars.*": "32",
    "env.inherit": ["HF_TOKEN"],
    "ml.benchmark_code": "python train.py",
    "ml.args": "--batch ${BATCH}",
    "ml.framework": "pytorch",
    "ml.framework_version": "2.4",
    "ml.script.script": "0d1c2b.tar",
    **_under("data.sources[]", _SOURCE),
    "measure.repeats": 5,
    "measure.warmups": 1,
    "measure.timeout_s": 7200.0,
    "measure.isolate": "process",
    "measure.fixed_layout": True,
    "measure.pin": "auto",
    "measure.nice": 5,
    "measure.drop_caches": True,
    "measure.governor": "performance",
    "measure.on_contamination": "void",
    "limits.fetch_timeout_s": 3600.0,
    "limits.start_timeout_s": 600.0,
    "limits.run_timeout_s": 14400.0,
    "limits.retries": 2,
    "limits.retry_on": ["lost", "preempted"],
    "limits.retry_pause_s": 10.0,
    "sweep.max_parallel": 4,
    "sweep.stop_after": 5,
    "sweep.max_cost": "100 USD",
    "sweep.max_run_s": 86400.0,
    "sweep.halving.metric": "throughput",
    "sweep.halving.along": "env.vars.BATCH",
    "sweep.halving.keep": 0.5,
    **_under("output.metrics[]", _METRIC),
    **_under("server.hardware", _HARDWARE),
    "server.env.docker_image": "user/server:tag",
    "server.env.ports": [8080, 8081],
    "server.env.start_command": "serve --model /models/resnet",
    "server.env.start_command_args": "--workers 4",
    "server.env.privileged": False,
    "server.env.extended_shm": True,
    "server.env.vars.*": "32",
    **_under("server.env.readiness_probe", _PROBE),
    **_under("server.env.liveness_probe", _PROBE),
    **_under("server.models[]", _SOURCE),
    **_under("server.output.metrics[]", _METRIC),
    "notify[].to": "slack:#perf",
    "notify[].on": ["regression", "failure", "recovery"],
    "notify[].confirm_runs": 2,
    "custom_params.python_version": "py3",
    "custom_params.sagemaker_job_name": "resnet50",
    "custom_params.region": "us-east-1",
    "custom_params.dashboard": "vision",
    "custom_params.merge": False,
    "custom_params.hyper_params.*": 0.1,
}


def toml(path: Path) -> str:
    """An example line ``key = value`` for a field; empty if the field has no example."""
    value = EXAMPLES.get(pattern_of(path))
    return "" if value is None else f"{path[-1]} = {value_text(value)}"


def value_text(value: Any) -> str:
    """A value as TOML; text with backslashes is written in single quotes."""
    if (
        isinstance(value, str)
        and ("\\" in value or '"' in value)
        and "'" not in value
        and value.isprintable()
    ):
        return f"'{value}'"
    if isinstance(value, list):
        return "[" + ", ".join(value_text(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{shown((key,))} = {value_text(item)}" for key, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False).replace(
        "\x7f", "\\u007f"
    )  # which JSON allows and TOML does not
