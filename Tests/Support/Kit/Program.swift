package import Foundation
import MeshBase

/// A program that a test starts, and with which it exchanges lines. Ends when it is deallocated.
///
/// No call blocks a thread of Swift's pool: two tests that did would block the whole pool of a small machine.
package final class Program: Sendable {
    private struct State {
        var output: [UInt8] = []
        var hasEnded = false
        var waiter: CheckedContinuation<Void, Never>?

        /// Removes and returns the first line. An unfinished line counts once the program has ended.
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
    ///   - command: A program in the search path.
    ///   - mergesErrors: True to read its standard error together with its standard output.
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
        // A separate thread: with many short programs, a handle's readability handler on Linux sometimes isn't called,
        // although there is something to read.
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

    /// Kills the program at once. It may block other signals: programs inherit the signals that our threads block.
    package func terminate() {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// Returns the next line without its end; nil when the program has closed its output. One caller at a time.
    package func line() async -> String? {
        while !Task.isCancelled {
            let (line, count, isLast) = state.withLock { ($0.takeLine(), $0.output.count, $0.hasEnded) }
            if line != nil || isLast { return line }
            await more(than: count)
        }
        return nil
    }

    /// Returns the remaining output.
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

    /// Returns the exit status.
    package func status() async -> Int32 {
        await process.ended()
        return process.terminationStatus
    }

    /// Waits until there is more output, or until the program has ended.
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
    /// - Returns: The text of both its outputs, and its exit status: 127 if there is no such program.
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
    /// Waits until the process has ended, without blocking a thread.
    package func ended() async {
        while isRunning { try? await Task.sleep(for: .milliseconds(2)) }
    }
}

private let starting = Locked(())

/// Runs `body`, which makes a program's pipes and starts it, while no other program is started. Otherwise that program
/// would inherit a pipe made meanwhile. If two programs hold the ends of each other's input, neither sees its end.
package func startingAlone<Result>(_ body: () throws -> Result) throws -> Result {
    try starting.withLock { _ in try body() }
}
