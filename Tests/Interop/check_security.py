#!/usr/bin/env python3
"""Checks what MeshSecurity writes. Written from Docs/Internals/SecuritySpecification.md alone.

    check_security.py pairing FILE              recomputes every message and code of pairing; the standard library alone
    check_security.py datagrams FILE            derives the keys and opens and seals every packet; needs cryptography
    check_security.py certificate FILE PEER_ID  verifies a certificate in DER; needs cryptography
    check_security.py identity FILE PEER_ID     reads the file of an identity; needs cryptography

Status 1 on a difference, 3 when cryptography is missing.
"""

import hashlib
import hmac
import json
import sys
from pathlib import Path

INITIATOR, RESPONDER = "initiator", "responder"
OPENING, ANSWER, REVEAL, AGREEMENT = 1, 2, 3, 4
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def transcript(protocol, purpose, *fields):
    """Every field with its length in two bytes in front."""
    fields = (protocol.encode(), bytes([1]), purpose.encode()) + fields
    return b"".join(len(field).to_bytes(2, "big") + field for field in fields)


class Checks:
    def __init__(self):
        self.count = self.failures = 0

    def same(self, what, found, expected):
        self.count += 1
        if found != expected:
            self.failures += 1
            print(f"{what}: {found!r}, not {expected!r}")

    def report(self):
        print(f"{self.count} checks, {self.failures} failures")
        return 1 if self.failures or not self.count else 0


# Pairing


def checksum(secret):
    """CRC-12, x^12 + x^11 + x^3 + x^2 + x + 1, beginning with ones."""
    value = 0xFFF
    for byte in secret:
        for place in range(7, -1, -1):
            value ^= (byte >> place & 1) << 11
            value = (value << 1 ^ 0x80F) & 0xFFF if value & 0x800 else value << 1
    return value


def secret_of(text):
    digits = text.replace("-", "")
    number = 0
    for digit in digits:
        number = number << 5 | ALPHABET.index(digit)
    secret = (number >> 12).to_bytes(16, "big")
    if len(digits) != 28 or number & 0xFFF != checksum(secret):
        raise ValueError(f"{text} is no secret")
    return secret


class Pairing:
    def __init__(self, case):
        self.number = {"secret": 1, "digits": 2}[case["method"]]
        self.secret = secret_of(case["secret"]) if self.number == 1 else bytes(16)
        self.ids = [bytes.fromhex(case[role]["id"]) for role in (INITIATOR, RESPONDER)]
        self.nonces = [bytes.fromhex(case[role]["nonce"]) for role in (INITIATOR, RESPONDER)]
        self.names = [case[role]["name"].encode() for role in (INITIATOR, RESPONDER)]

    def statement(self, purpose, *fields):
        return transcript("SessionMesh pairing", purpose, bytes([self.number]), *self.ids, *fields)

    def complete(self, purpose):
        return self.statement(purpose, *self.nonces, *self.names)

    def authenticator(self, purpose):
        return hmac.new(self.secret, self.complete(purpose), hashlib.sha256).digest()

    def code(self):
        digest = hashlib.sha256(self.complete("code")).digest()
        return f"{int.from_bytes(digest[:8], 'big') % 1_000_000:06}"

    def message(self, role, kind, word, name=None, proof=b""):
        name = b"" if name is None else bytes([len(name)]) + name
        return (bytes([1, self.number, role, kind]) + word + name + proof).hex()

    def messages(self):
        by_secret = self.number == 1
        commitment = hashlib.sha256(self.statement("commitment", self.nonces[0], self.names[0])).digest()
        proof = self.authenticator
        yield INITIATOR, self.message(1, OPENING, self.nonces[0] if by_secret else commitment, self.names[0])
        yield RESPONDER, self.message(
            2, ANSWER, self.nonces[1], self.names[1], proof("proof of responder") if by_secret else b"")
        yield INITIATOR, self.message(1, REVEAL, proof("proof of initiator") if by_secret else self.nonces[0])
        if not by_secret:
            yield INITIATOR, self.message(1, AGREEMENT, proof("agreement of initiator"))
        yield RESPONDER, self.message(2, AGREEMENT, proof("agreement of responder"))


def check_pairing(path):
    checks = Checks()
    for case in json.loads(path.read_text(encoding="utf-8")):
        pairing = Pairing(case)
        found = [(message["from"], message["bytes"]) for message in case["messages"]]
        checks.same(case["method"], found, list(pairing.messages()))
        if case["method"] == "digits":
            checks.same("code", case["code"], pairing.code())
    return checks.report()


# Datagrams


def check_datagrams(path):
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    checks = Checks()
    case = json.loads(path.read_text(encoding="utf-8"))
    private = {role: X25519PrivateKey.from_private_bytes(bytes.fromhex(case[role]["privateKey"]))
               for role in (INITIATOR, RESPONDER)}
    public = {role: key.public_key().public_bytes_raw() for role, key in private.items()}
    ids = {role: bytes.fromhex(case[role]["id"]) for role in private}
    shared = private[INITIATOR].exchange(X25519PublicKey.from_public_bytes(public[RESPONDER]))

    def key(sender, receiver):
        info = transcript(
            "SessionMesh datagrams", f"{sender} to {receiver}", public[INITIATOR], public[RESPONDER],
            ids[INITIATOR], ids[RESPONDER])
        derived = HKDF(algorithm=hashes.SHA256(), length=40, salt=None, info=info).derive(shared)
        return derived[:32], derived[32:]

    keys = {INITIATOR: key(INITIATOR, RESPONDER), RESPONDER: key(RESPONDER, INITIATOR)}
    for role in private:
        checks.same(f"public key of {role}", case[role]["publicKey"], public[role].hex())
    for packet in case["packets"]:
        secret, key_id = keys[packet["from"]]
        header = key_id + int(packet["counter"]).to_bytes(8, "big")
        plaintext = bytes.fromhex(packet["plaintext"])
        sealed = header + ChaCha20Poly1305(secret).encrypt(header[4:], plaintext, header)
        checks.same(f"packet {packet['counter']} of {packet['from']}", packet["packet"], sealed.hex())
        found = bytes.fromhex(packet["packet"])
        opened = ChaCha20Poly1305(secret).decrypt(found[4:16], found[16:], found[:16])
        checks.same("plaintext", opened, plaintext)
    return checks.report()


# Certificates and keys


def check_certificate(path, peer_id):
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    checks = Checks()
    certificate = x509.load_der_x509_certificate(path.read_bytes())
    key = certificate.public_key()
    key.verify(certificate.signature, certificate.tbs_certificate_bytes, ec.ECDSA(certificate.signature_hash_algorithm))
    checks.same("hash", certificate.signature_hash_algorithm.name, "sha256")
    checks.same("curve", key.curve.name, "secp256r1")
    spki = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    checks.same("peer id", hashlib.sha256(spki).hexdigest(), peer_id)
    checks.same("subject", certificate.subject.rfc4514_string(), "CN=SessionMesh")
    checks.same("issuer", certificate.issuer, certificate.subject)
    checks.same("bits of the serial number", certificate.serial_number.bit_length(), 127)
    constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    checks.same("authority", (constraints.critical, constraints.value.ca), (True, False))
    checks.same("extensions", len(certificate.extensions), 3)
    print(certificate.not_valid_before_utc.timestamp(), certificate.not_valid_after_utc.timestamp())
    return checks.report()


def check_identity(path, peer_id):
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

    checks = Checks()
    key = load_pem_private_key(path.read_bytes(), password=None)
    checks.same("curve", key.curve.name, "secp256r1")
    spki = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    checks.same("peer id", hashlib.sha256(spki).hexdigest(), peer_id)
    return checks.report()


def main(arguments):
    commands = {
        "pairing": (check_pairing, 1), "datagrams": (check_datagrams, 1), "certificate": (check_certificate, 2),
        "identity": (check_identity, 2),
    }
    command, count = commands.get(arguments[0] if arguments else None, (None, 0))
    if command is None or len(arguments) != 1 + count:
        sys.exit(__doc__)
    try:
        return command(Path(arguments[1]), *arguments[2:])
    except ImportError as error:
        print(f"cryptography is missing: {error}")
        return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
