"""A cluster of hosts on one machine: network namespaces that a bridge connects.

Each host is a namespace with an address of its own; processes in it reach the others over real
sockets. `agent` is a script that mpiexec uses in place of ssh: it enters the namespace of a host.
"""

import contextlib
import os
import pathlib
import shutil
import stat
import subprocess
import sys

import pytest


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=20)


def why_not() -> str | None:
    """The reason why namespaces cannot be made here, or None."""
    if sys.platform != "linux" or not shutil.which("ip") or not shutil.which("tc"):
        return "ip and tc are not installed"
    if os.geteuid() != 0:
        return "network namespaces need root"
    name = f"gt{os.getpid()}"
    try:
        _ip("netns", "add", name)
        _ip("netns", "del", name)
        _ip("link", "add", name, "type", "bridge")
        _ip("link", "del", name)
    except (subprocess.CalledProcessError, OSError) as error:
        return f"network namespaces are not permitted here ({error})"
    return None


# The hosts share the memory of one machine. This makes the MPI libraries use sockets all the same.
SOCKETS = {"UCX_TLS": "tcp,self", "FI_PROVIDER": "tcp"}


class Cluster:
    """``count`` hosts at 10.77.x.1 and on, as a context manager that removes all of them."""

    def __init__(self, folder: pathlib.Path, count: int = 4) -> None:
        self.tag = f"g{os.getpid() % 100000}"
        self.net = f"10.77.{os.getpid() % 250}"
        self.count = count
        self.folder = folder
        self.hosts = [f"{self.net}.{i + 1}" for i in range(count)]

    def __enter__(self) -> "Cluster":
        reason = why_not()
        if reason:
            pytest.skip(reason)
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _build(self) -> None:
        _ip("link", "add", f"{self.tag}b", "type", "bridge")
        _ip("addr", "add", f"{self.net}.254/24", "dev", f"{self.tag}b")
        _ip("link", "set", f"{self.tag}b", "up")
        for i, address in enumerate(self.hosts):
            space, outer = f"{self.tag}n{i}", f"{self.tag}v{i}"
            _ip("netns", "add", space)
            _ip("link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", space)
            _ip("link", "set", outer, "master", f"{self.tag}b", "up")
            _ip("-n", space, "addr", "add", f"{address}/24", "dev", "eth0")
            _ip("-n", space, "link", "set", "eth0", "up")
            _ip("-n", space, "link", "set", "lo", "up")
        self.agent = self.folder / "agent"
        spaces = "\n".join(f"{a}) s={self.tag}n{i};;" for i, a in enumerate(self.hosts))
        # mpiexec calls it as it would call ssh: [-x] host command ...
        self.agent.write_text(
            f'#!/bin/sh\nwhile [ "${{1#-}}" != "$1" ]; do shift; done\nh=$1; shift\ncase $h in\n{spaces}\n'
            '*) echo "unknown host $h" >&2; exit 1;; esac\nexec ip netns exec $s unshare -u sh -c "hostname host-$h; $*"\n'
        )
        self.agent.chmod(self.agent.stat().st_mode | stat.S_IXUSR)

    def __exit__(self, *_: object) -> None:
        for i in range(self.count):
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip("netns", "del", f"{self.tag}n{i}")
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip("link", "del", f"{self.tag}v{i}")
        with contextlib.suppress(subprocess.CalledProcessError):
            _ip("link", "del", f"{self.tag}b")

    def options(self) -> list[str]:
        """Options of ``genesis run`` for one rank on each host."""
        here = ["--address", f"{self.net}.254"]
        return ["--hosts", ",".join(self.hosts), "--launcher-exec", str(self.agent), *here]

    def cut(self, host: int) -> None:
        """Take the link of a host down."""
        _ip("link", "set", f"{self.tag}v{host}", "down")

    def limit(self, rate: str) -> None:
        """Limit what each host can receive and send, for example to "100mbit".

        A burst shorter than a packet of 64 KB makes the kernel cut the packet up while the sender
        waits, so that nothing could be sent in the background.
        """
        for i in range(self.count):
            inside = ["-n", f"{self.tag}n{i}"]
            shape = ["root", "tbf", "rate", rate, "burst", "128kb", "latency", "50ms"]
            for where, device in ((inside, "eth0"), ([], f"{self.tag}v{i}")):
                subprocess.run(
                    ["tc", *where, "qdisc", "replace", "dev", device, *shape],
                    check=True, capture_output=True, timeout=20,
                )  # fmt: skip
