"""A RabbitMQ broker for the mesh on this machine: a node of its own, on loopback only."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from subprocess import DEVNULL, STDOUT, Popen

from meshwright.deploy.lab.processes import LOG, LOOPBACK, Process, accepts, last_lines
from meshwright.deploy.lab.processes import wait_until as wait_for
from meshwright.errors import DeployError
from meshwright.mesh.lab.brokers import RunningBroker
from meshwright.runtime.machine import start_time

# The script in /usr/sbin would become another user, who may not write here.
PROGRAMS = ("/usr/lib/rabbitmq/bin/rabbitmq-server", "rabbitmq-server")
MORE_PORTS = 3  # beside the one for MQTT
START_SECONDS = 180.0  # an Erlang node on a busy machine
PLUGINS = "[rabbitmq_management,rabbitmq_mqtt].\n"
CONF = """\
listeners.tcp = none
mqtt.listeners.tcp.1 = 127.0.0.1:{port}
mqtt.allow_anonymous = true
management.tcp.ip = 127.0.0.1
management.tcp.port = {management}
log.file.level = warning
"""
# One scheduler that sleeps when there is nothing to do; the node listens on loopback.
ERLANG = "+S 1:1 +sbwt none +sbwtdcpu none -kernel inet_dist_use_interface {127,0,0,1}"


def find_rabbitmq() -> str | None:
    """Return the path of the broker's program, or None."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class LocalRabbit(RunningBroker):
    """One broker in a directory of its own; the ports are for MQTT, management, node and names."""

    def __init__(self, place: Path, ports: Sequence[int]) -> None:
        self.place = place.resolve()
        self.port, self.management, self._node_port, self._names_port = ports
        self._names: Process | None = None  # Erlang's register of names
        self.place.mkdir(parents=True, exist_ok=True)
        text = CONF.format(port=self.port, management=self.management)
        (self.place / "rabbitmq.conf").write_text(text, encoding="utf-8")
        (self.place / "enabled_plugins").write_text(PLUGINS, encoding="utf-8")

    def start(self) -> None:
        """Start it, without waiting."""
        program = find_rabbitmq()
        if program is None:
            raise DeployError(
                "rabbitmq-server is not installed. Install it (Debian, Ubuntu: apt-get install "
                "rabbitmq-server) and try again."
            )
        if self._names is None or not self._names.runs():
            # RabbitMQ would leave one behind that it started itself.
            self._names = self._run(["epmd", "-address", LOOPBACK, "-port", str(self._names_port)])
            if not wait_for(lambda: accepts(self._names_port)):
                raise DeployError("Erlang's epmd does not answer.")
        self.process = self._run([program])

    def wait(self) -> None:
        """Wait until it takes connections."""
        process = self.process
        ports = (self.port, self.management)
        if process is None or not wait_for(
            lambda: all(map(accepts, ports)) or not process.runs(), START_SECONDS
        ):
            raise DeployError(f"the broker at {LOOPBACK}:{self.port} does not answer.")
        if not process.runs():
            words = last_lines(self.place / LOG)
            raise DeployError(f"the broker at {LOOPBACK}:{self.port} ended: {words}")

    @property
    def processes(self) -> list[Process]:
        """All that it runs."""
        return [process for process in (self.process, self._names) if process is not None]

    def _run(self, command: list[str]) -> Process:
        place = str(self.place)
        own = {
            "HOME": place,  # with the cookie of this node
            "RUNNING_UNDER_SYSTEMD": "true",  # the script becomes the broker, instead of its parent
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": f"{place}/rabbitmq.conf",
            "RABBITMQ_ADVANCED_CONFIG_FILE": f"{place}/none",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{place}/enabled_plugins",
            "RABBITMQ_NODENAME": f"mesh-{self.port}@localhost",
            "RABBITMQ_MNESIA_BASE": f"{place}/data",
            "RABBITMQ_LOG_BASE": f"{place}/log",
            "RABBITMQ_GENERATED_CONFIG_DIR": f"{place}/generated",
            "RABBITMQ_PID_FILE": f"{place}/pid",
            "RABBITMQ_DIST_PORT": str(self._node_port),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": ERLANG,
            "ERL_EPMD_PORT": str(self._names_port),
            "ERL_EPMD_ADDRESS": LOOPBACK,
        }
        with (self.place / LOG).open("ab") as log:
            child = Popen(
                command,
                cwd=place,
                env={**os.environ, **own},
                stdin=DEVNULL,
                stdout=log,
                stderr=STDOUT,
                start_new_session=True,
            )
        child.returncode = 0  # nobody waits for it: no warning when it outlives the object
        return Process(child.pid, start_time(child.pid) or "ended at once")
