"""Servers that a check starts and ends: Redis, and gateways."""
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
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="mesh-redis-")
        self.path = os.path.join(self.folder, "redis.sock")
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "", "--dir", self.folder],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while not os.path.exists(self.path):
            if self.process.poll() is not None:
                raise SystemExit("redis-server does not start")
            time.sleep(0.02)

    @property
    def store(self):
        return ["--redis", f"unix://{self.path}"]

    def command(self, *words):
        return subprocess.run(["redis-cli", "-s", self.path, *words], check=True, capture_output=True, text=True).stdout.strip()

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
