import Foundation
import MeshBus

/// A program of somebody else's that a test talks to by lines.
final class ForeignProgram: Sendable {
    private struct State {
        var rest: [UInt8] = []
        var lines: [String] = []
        var hasEnded = false
        var waiter: CheckedContinuation<String?, Never>?
    }

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let state = Locked(State())

    init(_ command: String, _ arguments: [String]) throws {
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [command] + arguments
        process.standardInput = input
        process.standardOutput = output
        output.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            self?.take(data)
        }
        try process.run()
    }

    deinit {
        try? input.fileHandleForWriting.close()
        if process.isRunning { terminate() }
    }

    /// The next line; nil when the program has closed its output, or patience is at an end. One caller at a time.
    func line() async -> String? { await patiently { await self.nextLine() } }

    private func nextLine() async -> String? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let line: String?? = state.withLock { state in
                    if !state.lines.isEmpty { return .some(state.lines.removeFirst()) }
                    if state.hasEnded || Task.isCancelled { return .some(nil) }
                    state.waiter = waiter
                    return nil
                }
                if let line { waiter.resume(returning: line) }
            }
        } onCancel: {
            state.withLock { $0.waiter.take() }?.resume(returning: nil)
        }
    }

    /// Everything that it still says.
    func allLines() async -> [String] {
        var lines: [String] = []
        while let line = await line() { lines.append(line) }
        return lines
    }

    func write(_ line: String) throws { try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

    /// Tells the program that there is no more input.
    func closeInput() throws { try input.fileHandleForWriting.close() }

    /// At once: threads of ours block signals, and so do the programs that they start.
    func terminate() { kill(process.processIdentifier, SIGKILL) }

    private func take(_ data: Data) {
        let (waiter, line): (CheckedContinuation<String?, Never>?, String?) = state.withLock { state in
            if data.isEmpty { state.hasEnded = true }
            state.rest += data
            while let end = state.rest.firstIndex(of: UInt8(ascii: "\n")) {
                state.lines.append(String(decoding: state.rest[..<end], as: UTF8.self))
                state.rest.removeFirst(end + 1)
            }
            guard !state.lines.isEmpty || state.hasEnded, let waiter = state.waiter.take() else { return (nil, nil) }
            return (waiter, state.lines.isEmpty ? nil : state.lines.removeFirst())
        }
        waiter?.resume(returning: line)
    }
}

// MARK: - python-zeroconf

/// What `Tests/Interop/zeroconf_peer.py` says.
struct ZeroconfEvent: Decodable, Hashable, Sendable {
    var event: String
    var instance: String?
    var port: UInt16?
    var addresses: [String]?
    var attributes: [String: String?]?
    /// The TXT record, in hexadecimal.
    var text: String?
}

extension ForeignProgram {
    private static let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Interop/zeroconf_peer.py").path

    /// Whether this machine has python-zeroconf. Continuous integration must have it.
    static let hasZeroconf: Bool = {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", "import zeroconf"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    static func zeroconf(_ arguments: String...) throws -> ForeignProgram {
        try ForeignProgram("python3", ["-B", "-u", script] + arguments)
    }

    /// The next event of that kind.
    func event(_ kind: String, where isMet: (ZeroconfEvent) -> Bool = { _ in true }) async -> ZeroconfEvent? {
        while let line = await line() {
            let event = try? JSONDecoder().decode(ZeroconfEvent.self, from: Data(line.utf8))
            if let event, event.event == kind, isMet(event) { return event }
        }
        return nil
    }
}
