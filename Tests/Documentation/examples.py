"""The examples in the documentation comments of the types that people meet first."""

import re

import symbols
from pages import Block

# Each has an example that compiles.
TYPES = [
    "SessionFeature", "SessionOf", "SyncedSession", "SharedSession", "SessionLobby", "SessionSyncReducer", "SessionEventContext",
    "SessionConflictPolicy", "SessionPeer", "SessionSyncEnvelope", "SessionProblem", "SessionTimerAnchor", "SessionStore",
    "MemoryStore", "SQLiteStore", "SharedState", "StorageKey", "StorageRouter", "Stored", "SessionRequests", "FileTransfers",
    "DiagnosticsSession", "UDPSessionSyncTransport", "WatchConnectivitySessionSyncTransport", "MQTTSessionSyncTransport",
    "GatewaySessionSyncTransport", "LoopbackSessionSyncTransport", "PipeSessionSyncTransport", "ScenarioNetwork",
    "SessionCoordinator", "ResumeWebSocketClient", "GatewayServer"]
DECLARATION = re.compile(r" *public (?:final )?(?:struct|class|enum|actor|protocol|typealias) (\w+)")


def blocks():
    """The example of each type, as a block that names its type, and a fault for each type without one."""
    found = {}
    for path in sorted((symbols.ROOT / "Modules").rglob("*.swift")):
        # What stands there without a trait has no comments.
        if path.name == "WithoutTrait.swift":
            continue
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines):
            declared = DECLARATION.match(line)
            if declared and declared[1] in TYPES and (block := example(path, lines, number, declared[1])):
                found.setdefault(declared[1], block)
    missing = [f"{name} has no example in its documentation comment" for name in TYPES if name not in found]
    return [found[name] for name in TYPES if name in found], missing


def example(path, lines, number, name):
    """The blocks of Swift in the comment above a line, as one."""
    begin = number
    while lines[begin - 1].lstrip().startswith(("///", "@")):
        begin -= 1
    text, first, within = [], None, False
    for place in range(begin, number):
        line = re.sub(r"^ */// ?", "", lines[place])
        if line.startswith("```"):
            within, first = line == "```swift", first or place + 2
        elif within:
            text.append(line)
    return Block(path, first, "swift", "\n".join(text) + "\n", name) if text else None
