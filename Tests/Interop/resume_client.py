#!/usr/bin/env python3
"""A client in another language: identifies, drops, resumes, and gets exactly what it missed.

Usage: resume_client.py PATH_OF_MESH    starts `mesh gateway` itself, and ends it
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.request

import websockets


TOKEN = "the token for publishing"


def publish(port, user, number):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/publish/{user}/NUMBER", data=str(number).encode(), method="POST",
        headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["s"]


async def frame(socket):
    return json.loads(await socket.recv())


async def begin(socket, operation, data):
    hello = await frame(socket)
    assert hello["op"] == 10 and hello["d"]["heartbeat_interval"] > 0, hello
    await socket.send(json.dumps({"op": operation, "d": data, "unknown": 1}))
    return await frame(socket)


async def numbers(socket, count):
    frames = [await frame(socket) for _ in range(count)]
    assert all(each["op"] == 0 and each["t"] == "NUMBER" for each in frames), frames
    return [(each["s"], each["d"]) for each in frames]


async def converse(url, metrics):
    call = asyncio.to_thread
    async with websockets.connect(url) as socket:
        ready = await begin(socket, 2, {"token": "anna"})
        assert ready["t"] == "READY" and ready["s"] == 0, ready
        for number in range(1, 6):
            assert await call(publish, metrics, "anna", number) == number
        assert await numbers(socket, 5) == [(n, n) for n in range(1, 6)]
        await socket.send(json.dumps({"op": 1, "d": 5}))
        assert (await frame(socket))["op"] == 11
        socket.transport.abort()
    for number in range(6, 306):
        await call(publish, metrics, "anna", number)
    await call(publish, metrics, "bernd", 1)
    resume = {"token": "anna", "session_id": ready["d"]["session_id"], "seq": 5}
    async with websockets.connect(url) as socket:
        resumed = await begin(socket, 6, resume)
        assert resumed["t"] == "RESUMED" and resumed["d"] == {"replayed": 300, "seq": 305}, resumed
        assert await numbers(socket, 300) == [(n, n) for n in range(6, 306)]
        await call(publish, metrics, "anna", 306)
        assert await numbers(socket, 1) == [(306, 306)], "live after the replay"
    # A resume after a resume replays nothing (K22), and another user's session is nobody's (K20).
    async with websockets.connect(url) as socket:
        resumed = await begin(socket, 6, {**resume, "seq": 306})
        assert resumed["d"] == {"replayed": 0, "seq": 306}, resumed
    async with websockets.connect(url) as socket:
        refused = await begin(socket, 6, {**resume, "token": "bernd"})
        assert refused["op"] == 9 and refused["d"] is False, refused
    async with websockets.connect(url) as socket:
        ready = await begin(socket, 2, {"token": "anna"})
        await goodbye(socket)


async def goodbye(socket):
    """What a gateway says when it ends."""
    gateway.send_signal(signal.SIGTERM)
    told = await frame(socket)
    assert told["op"] == 7 and 0 <= told["d"]["retry_after"] <= 10_000, told
    await socket.wait_closed()
    assert socket.close_code == 4000, socket.close_code


gateway = subprocess.Popen([sys.argv[1], "gateway", "--json", "--publish"], env={**os.environ, "MESH_PUBLISH_TOKEN": TOKEN}, stdout=subprocess.PIPE, text=True)
try:
    serving = json.loads(gateway.stdout.readline())
    asyncio.run(converse(serving["url"], serving["metrics_port"]))
    assert gateway.wait() == 0, gateway.returncode
    print("identified, dropped, resumed: every event once and in order")
finally:
    gateway.kill()
