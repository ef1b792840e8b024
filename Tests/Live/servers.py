"""Servers that a check starts and ends: Redis with Sentinel, and gateways."""
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request

# The token for publishing.
TOKEN = "the token for publishing"


class Redis:
    """A Redis on a socket, and with `port` on that too."""

    def __init__(self, port=0, *options):
        self.folder = tempfile.mkdtemp(prefix="mesh-redis-")
        self.path = os.path.join(self.folder, "redis.sock")
        self.port, self.options = port, options
        self.start()

    def start(self):
        """Starts it, empty."""
        self.process = subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--unixsocket", self.path, "--save", "",
             "--dir", self.folder, *self.options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while not os.path.exists(self.path):
            if self.process.poll() is not None:
                raise SystemExit("redis-server does not start")
            time.sleep(0.02)

    def kill(self):
        self.process.kill()
        self.process.wait()
        if os.path.exists(self.path):
            os.remove(self.path)

    @property
    def store(self):
        return ["--redis", f"unix://{self.path}"]

    def command(self, *words):
        return subprocess.run(["redis-cli", "-s", self.path, *words], check=True, capture_output=True, text=True).stdout.strip()

    def end(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Sentinel:
    """A Redis Sentinel that calls its master `one`, and replaces it when it is silent for a second."""

    def __init__(self, port, master):
        self.folder = tempfile.mkdtemp(prefix="mesh-redis-")
        self.port = port
        settings = os.path.join(self.folder, "sentinel")
        with open(settings, "w") as file:
            file.write(f"port {port}\nbind 127.0.0.1\ndir {self.folder}\nsentinel monitor one 127.0.0.1 {master.port} 1\n"
                       "sentinel down-after-milliseconds one 1000\n")
        self.process = subprocess.Popen(
            ["redis-server", settings, "--sentinel"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    @property
    def store(self):
        return ["--redis", f"redis+sentinel://127.0.0.1:{self.port}/one"]

    def command(self, *words):
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True).stdout.strip()

    def end(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Gateway:
    """A `mesh gateway` at which a check may publish."""

    def __init__(self, mesh, store=()):
        self.process = subprocess.Popen(
            [mesh, "gateway", "--json", "--publish", *store], env={**os.environ, "MESH_PUBLISH_TOKEN": TOKEN},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        serving = json.loads(self.process.stdout.readline())
        self.url, self.port, self.metrics_port = serving["url"], serving["port"], serving["metrics_port"]

    def post(self, path, body=b""):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.metrics_port}{path}", data=body, method="POST", headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def publish(self, user, content):
        """The number of the event."""
        return self.post(f"/publish/{user}/EVENT", json.dumps(content).encode())["s"]

    def end(self):
        self.process.kill()
        self.process.wait()
