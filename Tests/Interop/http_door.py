#!/usr/bin/env python3
"""A backend in another language publishes at a gateway, with the example's client. Then connections break and lie.

Usage: http_door.py PATH_OF_MESH    starts `mesh gateway` itself, and ends it
"""

import http.client
import os
import pathlib
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "Tests/Live"), str(ROOT / "Docs/Examples/Backend")]
import publish
import servers


class LosingConnection(http.client.HTTPConnection):
    """Loses the first answer, after the gateway has given it."""

    lost = 0

    def getresponse(self):
        answer = super().getresponse()
        if self.lost == 0:
            answer.read()
            self.lost += 1
            raise ConnectionResetError("lost")
        return answer


def works(publisher):
    assert publisher.publish("anna", "MESSAGE", {"text": "é"}) == 1
    assert publisher.publish("anna b/c", "MESSAGE", None) == 1
    assert publisher.publish_all([("anna" if n % 2 else "bob", "MESSAGE", n) for n in range(1000)])[-2:] == [500, 501]
    publisher.disconnect("anna")
    publisher.connection = LosingConnection("127.0.0.1", publisher.connection.port)
    assert publisher.publish("carol", "MESSAGE", 1) == 1, "the lost answer comes again"
    assert publisher.connection.lost == 1
    assert publisher.publish("carol", "MESSAGE", 2) == 2, "and nothing was published twice"


def refuses(publisher):
    for call, code in [
        (lambda: publisher.publish("anna", "READY", 1), "invalidEvent"),
        (lambda: publisher.publish_all([("anna", "MESSAGE", 1)] * 1001), "tooManyEvents"),
        (lambda: publisher.publish("anna", "MESSAGE", "x" * 300_000), "tooLarge"),
        (lambda: publish.Publisher(publisher.connection.port, "another token").publish("anna", "MESSAGE", 1), "unauthorized"),
    ]:
        try:
            call()
        except publish.Refused as refusal:
            assert refusal.code == code, refusal
        else:
            raise AssertionError(f"{code} was published")


def raw(port, request):
    """The answers until the gateway closes."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(request)
        connection.settimeout(20)
        answers = b""
        while part := connection.recv(65536):
            answers += part
        return answers


def stands(port):
    head = f"POST /publish/dora/MESSAGE HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {servers.TOKEN}\r\n".encode()
    one = head + b"Content-Length: 1\r\n\r\n1"
    last = head + b"Connection: close\r\nContent-Length: 1\r\n\r\n1"
    answers = raw(port, one * 99 + last)
    numbers = [int(part.split(b"}")[0]) for part in answers.split(b'{"s":')[1:]]
    assert numbers == list(range(1, 101)), numbers
    both = raw(port, head + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + one)
    assert both.startswith(b"HTTP/1.1 400") and both.count(b"HTTP/1.1 ") == 1, both
    assert raw(port, head + b"Content-Length: 9\r\n\r\n1") == b"", "a request that doesn't end is not waited for"


gateway = servers.Gateway(sys.argv[1])
try:
    publisher = publish.Publisher(gateway.metrics_port, servers.TOKEN)
    works(publisher)
    refuses(publisher)
    stands(gateway.metrics_port)
    said = subprocess.run(
        [sys.executable, publish.__file__, str(gateway.metrics_port), "emil", "hi", "ho"], check=True,
        env={**os.environ, "MESH_PUBLISH_TOKEN": servers.TOKEN}, capture_output=True, text=True).stdout
    assert said == "1 2\n", said
    print("published in one connection and in batches; lost answers, wrong tokens and split requests changed nothing")
finally:
    gateway.end()
