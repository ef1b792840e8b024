package import Foundation
import MeshBase

/// A program that a test starts and talks to by lines. Ended when it is let go.
///
/// Nobody waits for it on a thread of Swift's pool: two tests that did would hold the whole pool of a small machine.
package final class Program: Sendable {
    private struct State {
        var output: [UInt8] = []
        var hasEnded = false
        var waiter: CheckedContinuation<Void, Never>?

        /// The first line; what has no end yet counts as one once no more can come.
        mutating func takeLine() -> String? {
            let isWhole = hasEnded && !output.isEmpty
            guard let end = output.firstIndex(of: UInt8(ascii: "\n")) ?? (isWhole ? output.count : nil) else {
                return nil
            }
            defer { output.removeFirst(min(end + 1, output.count)) }
            return String(decoding: output[..<end], as: UTF8.self)
        }
    }

    private let process: Process
    private let input: Pipe
    private let state = Locked(State())

    /// - Parameters:
    ///   - command: looked for in the path.
    ///   - mergesErrors: whether what it says on its standard error counts as said.
    package init(_ command: String, _ arguments: [String] = [], mergesErrors: Bool = false) throws {
        let output: Pipe
        (process, input, output) = try startingAlone {
            let (process, input, output) = (Process(), Pipe(), Pipe())
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = [command] + arguments
            process.standardInput = input
            process.standardOutput = output
            if mergesErrors { process.standardError = output }
            try process.run()
            return (process, input, output)
        }
        // On a thread of its own: where many programs come and go, a handle's readability handler on Linux is at times not
        // called any more, though there is something to be read.
        let handle = output.fileHandleForReading
        Thread.detachNewThread { [weak self] in
            while true {
                let data = handle.availableData
                self?.take(data)
                if data.isEmpty { return }
            }
        }
    }

    deinit {
        try? closeInput()
        terminate()
    }

    package func write(_ text: String) throws { try input.fileHandleForWriting.write(contentsOf: Data(text.utf8)) }

    /// Tells the program that there is no more input.
    package func closeInput() throws { try input.fileHandleForWriting.close() }

    /// At once: threads of ours block signals, and so do the programs that they start.
    package func terminate() {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// The next line without its end; nil when the program has closed its output. One caller at a time.
    package func line() async -> String? {
        while !Task.isCancelled {
            let (line, count, isLast) = state.withLock { ($0.takeLine(), $0.output.count, $0.hasEnded) }
            if line != nil || isLast { return line }
            await more(than: count)
        }
        return nil
    }

    /// Everything that it still says.
    package func rest() async -> String {
        while !Task.isCancelled {
            let (count, isLast) = state.withLock { ($0.output.count, $0.hasEnded) }
            if isLast { break }
            await more(than: count)
        }
        return state.withLock { state in
            defer { state.output = [] }
            return String(decoding: state.output, as: UTF8.self)
        }
    }

    /// How it ended.
    package func status() async -> Int32 {
        await process.ended()
        return process.terminationStatus
    }

    /// Waits until it has said more, or will say no more.
    private func more(than count: Int) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let isOver = state.withLock { state in
                    if state.hasEnded || Task.isCancelled || state.output.count != count { return true }
                    state.waiter = waiter
                    return false
                }
                if isOver { waiter.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiter.take() }?.resume()
        }
    }

    private func take(_ data: Data) {
        let waiter = state.withLock { state in
            if data.isEmpty { state.hasEnded = true }
            state.output += data
            return state.waiter.take()
        }
        waiter?.resume()
    }
}

extension Program {
    /// Runs a program to its end.
    /// - Returns: what it said on both its outputs, and how it ended: 127 if there is no such program.
    package static func run(
        _ command: String, _ arguments: [String], input: String = ""
    ) async throws -> (status: Int32, output: String) {
        let program = try Program(command, arguments, mergesErrors: true)
        if !input.isEmpty { try program.write(input) }
        try program.closeInput()
        let output = await program.rest()
        return (await program.status(), output)
    }
}

extension Process {
    /// Waits until it has ended, on no thread.
    package func ended() async {
        while isRunning { try? await Task.sleep(for: .milliseconds(2)) }
    }
}

private let starting = Locked(())

/// Makes a program's pipes and starts it, while no other is being started. A pipe that is made meanwhile would stay open
/// in the other, and of two that hold the ends of each other's input neither learns that it is over.
package func startingAlone<Result>(_ body: () throws -> Result) throws -> Result {
    try starting.withLock { _ in try body() }
}
