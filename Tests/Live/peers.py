"""Live peers as processes: at terminals of their own, or driven by pipes."""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time

# Only what fails waits for so long: a busy machine is no fault.
PATIENCE = 120.0
ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
MESH = os.path.join(ROOT, ".build/debug/mesh")


class Failure(Exception):
    pass


class World:
    """A folder for what one check makes, and the peers in it."""

    def __init__(self, mesh, link, folder=None, interface=None, patience=PATIENCE, authorities=None):
        self.mesh, self.link, self.interface, self.patience = os.path.abspath(mesh), link, interface, patience
        self.folder = folder or tempfile.mkdtemp(prefix="mesh-live-")
        self.authorities = authorities
        self.peers = []

    def home(self, name):
        return os.path.join(self.folder, name)

    def arguments(self, name):
        return [self.mesh, "peer", "--name", name, "--home", self.home(name), *self.way()]

    def way(self):
        """The options that lead to the others."""
        if self.link == "udp":
            return ["--link", "udp", "--interface", self.interface or loopback()]
        if self.link == "unix":
            return ["--link", "unix:" + os.path.join(self.folder, "socket")]
        return ["--link", self.link, *(["--authorities", self.authorities] if self.authorities else [])]

    def pair(self, *names):
        """Everybody with everybody, by a secret; nothing to do over a socket."""
        if self.link == "unix":
            return
        for index, first in enumerate(names):
            for second in names[index + 1:]:
                pair(self, first, second)

    def terminal(self, name):
        return self.add(Terminal(name, self.arguments(name)))

    def script(self, name, *more):
        return self.add(Script(name, self.arguments(name) + ["--json", *more]))

    def add(self, peer):
        peer.world = self
        self.peers.append(peer)
        return peer

    def end(self):
        for peer in self.peers:
            peer.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Peer:
    """A process of which all output is kept."""

    def __init__(self, name):
        self.name, self.output, self.status, self.isSilent = name, "", None, False

    def read(self, seconds):
        """Takes what any peer has printed, waiting so long for the first of it: one that nobody reads would stand still."""
        open_peers = [peer for peer in self.world.peers if not peer.isSilent]
        ready, _, _ = select.select([peer.stdout for peer in open_peers], [], [], seconds)
        for peer in open_peers:
            if peer.stdout in ready:
                peer.take()
        return bool(ready)

    def take(self):
        try:
            data = os.read(self.stdout, 65536)
        except OSError:  # a terminal that nobody has open any more
            data = b""
        self.output += data.decode(errors="replace")
        self.isSilent = not data

    def until(self, what, condition):
        deadline = time.monotonic() + self.world.patience
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0:
                raise Failure(f"{self.name}: {what} did not happen")
            if not self.read(min(left, 0.1)) and self.poll() is not None and not condition():
                raise Failure(f"{self.name} ended with {self.status} before {what}")

    def press(self, keys):
        os.write(self.stdin, keys.encode())

    def poll(self):
        if self.status is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status

    def ends(self, status):
        self.until("its end", lambda: self.poll() is not None)
        while self.read(0):
            pass
        expect(self.status == status, f"{self.name} ended with {self.status} and not {status}")

    def kill(self):
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.status = -signal.SIGKILL


class Terminal(Peer):
    """A peer at a terminal of its own."""

    def __init__(self, name, arguments):
        super().__init__(name)
        controller, self.terminal = pty.openpty()
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
        self.mode = termios.tcgetattr(self.terminal)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.terminal, termios.TIOCSCTTY, 0)
            for descriptor in (0, 1, 2):
                os.dup2(self.terminal, descriptor)
            os.execv(arguments[0], arguments)
        self.stdin = self.stdout = controller

    @property
    def isRaw(self):
        return not termios.tcgetattr(self.terminal)[3] & (termios.ICANON | termios.ECHO)

    @property
    def isRestored(self):
        return termios.tcgetattr(self.terminal) == self.mode

    @property
    def line(self):
        """The status line as it is drawn now."""
        return re.split(r"\r\x1b\[K|\r\n", self.output)[-1]

    def shows(self, text):
        self.until(f"'{text}'", lambda: text in self.line)

    def says(self, text):
        self.until(f"'{text}'", lambda: text in self.output)


class Script(Peer):
    """A peer that a script drives by pipes."""

    def __init__(self, name, arguments):
        super().__init__(name)
        self.pressed = 0
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.pid = self.process.pid
        self.stdin, self.stdout = self.process.stdin.fileno(), self.process.stdout.fileno()

    @property
    def changes(self):
        return [json.loads(line) for line in self.output.split("\n")[:-1]]

    @property
    def last(self):
        changes = self.changes
        return changes[-1] if changes else {"peers": []}

    def taken(self):
        """How many of its taps have counted, once all that were pressed have been answered."""
        def answers(kinds):
            return [change for change in self.changes if change["change"] in kinds]

        own = lambda: [change for change in answers({"tapped"}) if change["message"].startswith("you: ")]
        self.until("an answer to each tap", lambda: len(own()) + len(answers({"refused"})) == self.pressed)
        return len(own())

    def tap(self, key):
        self.pressed += 1
        self.press(key)

    def rest(self, seconds):
        """Goes on reading meanwhile."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read(left)

    def shows(self, **values):
        self.until(f"{values}", lambda: all(self.last.get(key) == value for key, value in values.items()))

    def feels(self, count):
        """Every other's heart beats, and for each a second rate has come."""
        rates = lambda: {peer["id"]: peer["heartRate"] for peer in self.last["peers"] if peer.get("heartRate")}
        self.until("every heart rate", lambda: len(rates()) == count)
        first = rates()
        self.until("a second of each", lambda: len(rates()) == count and all(rates()[peer] != first[peer] for peer in first))

    def meets(self, count):
        self.until(f"{count} peers", lambda: sum(peer["isConnected"] for peer in self.last["peers"]) == count)


def expect(condition, message):
    if not condition:
        raise Failure(message)


class Process:
    """One that listens at a port of its own, or at a socket."""

    def __init__(self, arguments, isReady):
        self.arguments, self.isReady = arguments, isReady
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            self.arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not self.isReady():
            expect(self.process.poll() is None, f"{self.arguments[0]} does not start")
            time.sleep(0.05)

    def kill(self):
        self.process.kill()
        self.process.wait()


def freePort():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def loopback():
    return "lo0" if sys.platform == "darwin" else "lo"


def pair(world, first, second, *options):
    def run(name, *more):
        return subprocess.Popen(
            [world.mesh, "pair", "--name", name, "--home", world.home(name), *world.way(), "--json", *options, *more],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    one = run(first, "--new-secret")
    secret = json.loads(one.stdout.readline())["secret"]
    other = run(second, "--secret-file", "-")
    said, error = other.communicate(secret + "\n", timeout=300)
    expect(other.returncode == 0, f"{second} was not paired: {error}")
    said, error = one.communicate(timeout=300)
    expect(one.returncode == 0, f"{first} was not paired: {error}")
    expect(json.loads(said.splitlines()[-1])["name"] == second, f"{first} was paired with {said}")
