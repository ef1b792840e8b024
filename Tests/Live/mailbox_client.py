"""A device's side of the mailbox protocol (Docs/Internals/MailboxProtocol.md)."""
import asyncio
import hashlib
import socket
import struct

import websockets
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

DATAGRAM, QUEUE, LATEST, PRESENCE = 2, 3, 4, 5
SUBPROTOCOL = "sessionmesh.mailbox.v1"
# Only what fails waits for so long.
PATIENCE = 60.0


def varint(number):
    result = bytearray()
    while number >= 0x80:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    result.append(number)
    return bytes(result)


def read_varint(data, place):
    number = shift = 0
    while True:
        byte = data[place]
        place += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, place


def counted(data):
    return varint(len(data)) + data


class Identity:
    def __init__(self):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.public = self.key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.id = hashlib.sha256(self.public).digest()

    def open(self, challenge, token):
        signature = self.key.sign(b"SessionMesh mailbox 1\0" + challenge, ec.ECDSA(hashes.SHA256()))
        r, s = utils.decode_dss_signature(signature)
        signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
        return (b"\x01" + counted(token.encode()) + counted(self.public) + counted(signature) + counted(b"\0")
                + varint(0) + varint(0))


def follow(*ids):
    return b"\x02" + b"".join(ids)


def post(number, to, lane, data, key=b""):
    return b"\x03" + varint(number) + to + bytes([lane]) + counted(key) + data


class Closed(Exception):
    """Why the gateway has closed a connection, or not let it in."""


class Device:
    """One connection at a time, which is kept open."""

    def __init__(self, gateway, user, identity=None, address=None):
        self.gateway, self.user, self.identity, self.address = gateway, user, identity or Identity(), address
        self.packets, self.posted, self.number, self.bytes = [], {}, 0, 0
        self.isFollowing, self.closed, self.task = asyncio.Event(), None, None
        self.on_packet = None

    async def open(self, *followed):
        options = {"local_addr": (self.address, 0)} if self.address else {}
        self.socket = await websockets.connect(
            self.gateway.url, subprotocols=[SUBPROTOCOL], max_queue=None, compression=None, ping_interval=None, **options)
        challenge = (await self.socket.recv())[-32:]
        await self.socket.send(self.identity.open(challenge, self.user))
        opened = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(self.read(opened))
        await asyncio.wait_for(opened, PATIENCE)
        if followed:
            await self.follow(*followed)

    async def follow(self, *ids):
        self.isFollowing.clear()
        await self.socket.send(follow(*ids))
        waiting = asyncio.create_task(self.isFollowing.wait())
        await asyncio.wait([waiting, self.task], timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not self.isFollowing.is_set():
            raise Closed(self.closed or "no answer to follow")

    async def read(self, opened):
        try:
            async for frame in self.socket:
                self.bytes += len(frame)
                operation = frame[0]
                if operation == 0x82:
                    opened.set_result(None)
                elif operation == 0x83:
                    self.isFollowing.set()
                elif operation == 0x85:
                    self.take(frame)
                elif operation == 0x86:
                    number, place = read_varint(frame, 1)
                    self.posted.pop(number).set_result(frame[place + 1:].decode() or None)
        except websockets.exceptions.ConnectionClosed:
            pass
        self.closed = f"{self.socket.close_code} {self.socket.close_reason}"
        for waiting in [opened, *self.posted.values()]:
            if not waiting.done():
                waiting.set_exception(Closed(self.closed))

    def take(self, frame):
        sender, lane = frame[1:33], frame[33]
        length, place = read_varint(frame, 34)
        place += length
        for _ in range(2):
            _, place = read_varint(frame, place)
        packet = (sender, lane, frame[place:])
        self.packets.append(packet)
        if self.on_packet:
            self.on_packet(*packet)

    async def post(self, to, lane, data, key=b""):
        """Returns the reason of a refusal, None for none."""
        self.number += 1
        answer = self.posted[self.number] = asyncio.get_running_loop().create_future()
        await self.socket.send(post(self.number, to, lane, data, key))
        return await asyncio.wait_for(answer, PATIENCE)

    async def beat(self):
        await self.socket.send(b"\x05")

    async def close(self):
        await self.socket.close()


class RawSocket:
    """A WebSocket of an attacker's: frames are prepared once and sent as fast as the gateway reads."""

    def __init__(self, gateway, address="127.0.0.1", subprotocol=SUBPROTOCOL):
        self.socket = socket.create_connection(("127.0.0.1", gateway.port), timeout=PATIENCE, source_address=(address, 0))
        protocol = f"Sec-WebSocket-Protocol: {subprotocol}\r\n" if subprotocol else ""
        self.socket.sendall(
            (f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{gateway.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{protocol}Sec-WebSocket-Version: 13\r\n\r\n").encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.more()
        self.buffer = self.buffer.split(b"\r\n\r\n", 1)[1]

    def more(self):
        data = self.socket.recv(65536)
        if not data:
            raise Closed("the connection has ended")
        self.buffer += data

    def receive(self):
        while len(self.buffer) < 2:
            self.more()
        length, head = self.buffer[1] & 0x7F, 2
        if length == 126:
            while len(self.buffer) < 4:
                self.more()
            length, head = struct.unpack(">H", self.buffer[2:4])[0], 4
        while len(self.buffer) < head + length:
            self.more()
        operation, frame = self.buffer[0] & 0xF, self.buffer[head:head + length]
        self.buffer = self.buffer[head + length:]
        if operation == 8:
            raise Closed(f"{struct.unpack('>H', frame[:2])[0]} {frame[2:].decode()}")
        return frame

    @staticmethod
    def frame(data, operation=2):
        """With a mask that changes nothing."""
        size = len(data)
        length = bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack(">H", size)
        return bytes([0x80 | operation]) + length + b"\0\0\0\0" + data

    def send(self, data, operation=2):
        self.socket.sendall(self.frame(data, operation))

    def open(self, identity, user, *followed):
        challenge = self.receive()[-32:]
        self.send(identity.open(challenge, user))
        self.until(0x82)
        if followed:
            self.send(follow(*followed))
            self.until(0x83)

    def until(self, operation):
        while self.receive()[0] != operation:
            pass
