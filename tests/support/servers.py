"""The server of an inference benchmark, with a value in every field that an engine uses."""

from anubis.model.metric import Metric, Output
from anubis.model.server import Probe, Server, ServerEnv, ServerHardware

PROBE = Probe(path="/ping")
SERVER = Server(
    hardware=ServerHardware(instance_type="p3.8xlarge", cpus=3.0),
    env=ServerEnv(
        docker_image="user/server",
        ports=(8080, 8081),
        start_command="serve --model 'a b'",
        start_command_args="--workers 4",
        vars={"A": "1"},
        readiness_probe=PROBE,
        liveness_probe=PROBE,
    ),
    output=Output(metrics=(Metric(name="latency", pattern="(.*)"),)),
)
