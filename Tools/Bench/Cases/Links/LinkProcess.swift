import Foundation
import MeshIdentity
import MeshToolOutput
import MeshTransport

/// The job of the second process of a measured link.
package enum LinkRole: String, CaseIterable, Sendable {
    /// Reads and counts messages.
    case rawSink
    /// Sends every message back.
    case rawEcho
    /// Runs an engine that acknowledges and answers.
    case engine
    /// Runs the engine behind the main-actor adapter.
    case session

    /// Number of messages after which the sink sends its reply.
    static let sinkCount = 100_000
    /// The tool's command that plays a role. It isn't meant for users.
    package static let command = "link-end"

    /// Plays the role on the process's standard input and output until the other end goes.
    @MainActor package func play(_ link: MeasuredLink) async throws {
        guard case .processes(_, let makeEnd) = link.form else {
            throw ToolError("\(link.id) doesn't connect processes")
        }
        LinkCores.pin(to: .second)
        let raw = RawChannel(input: 0, output: 1)
        switch self {
        case .rawSink: try? raw.sink(Self.sinkCount)
        case .rawEcho: try? raw.echo()
        case .engine, .session:
            let local = LinkPeers.answering
            let transport = try await makeEnd(local, 0, 1)
            let reachability = transport.reachabilityChanges()
            let watch = Task {
                for await change in reachability where !change.isReachable { break }
                await transport.close()
                exit(EXIT_SUCCESS)
            }
            if self == .session {
                try await SessionEnd(local, on: transport).serve()
            } else {
                try await Task.detached {
                    var end = EngineEnd(local, with: LinkPeers.asking, on: transport)
                    try await end.serve()
                }.value
            }
            await watch.value
        }
    }
}

/// A second process of this tool that is the other end of a link.
final class LinkProcess {
    /// This side of the channel. The code that uses it must close it.
    let channel: RawChannel
    private let process = Process()

    var processIdentifier: Int32 { process.processIdentifier }

    /// - Parameter whenEnded: Called when the process has exited.
    init(
        _ link: MeasuredLink, over kind: MeasuredLink.Channel, as role: LinkRole,
        whenEnded: @escaping @Sendable () -> Void = {}
    ) throws {
        let (mine, theirs) = try kind.open()
        defer { theirs.close() }
        channel = mine
        process.executableURL = Bundle.main.executableURL
        process.arguments = [LinkRole.command, link.id, role.rawValue]
        process.terminationHandler = { _ in whenEnded() }
        process.standardInput = FileHandle(fileDescriptor: theirs.input, closeOnDealloc: false)
        process.standardOutput = FileHandle(fileDescriptor: theirs.output, closeOnDealloc: false)
        try process.run()
    }

    func end() {
        if process.isRunning { process.terminate() }
        process.waitUntilExit()
    }
}

extension MeasuredLink.Channel {
    func open() throws -> (mine: RawChannel, theirs: RawChannel) {
        var there: [Int32] = [-1, -1]
        var back: [Int32] = [-1, -1]
        let isOpen =
            switch self {
            case .pipes: pipe(&there) == 0 && pipe(&back) == 0
            case .unixSocket: socketpair(AF_UNIX, Self.streamType, 0, &there) == 0
            }
        guard isOpen else { throw ToolError("no descriptors for a channel: error \(errno)") }
        for descriptor in there + back where descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        return switch self {
        case .pipes: (RawChannel(input: back[0], output: there[1]), RawChannel(input: there[0], output: back[1]))
        case .unixSocket: (RawChannel(input: there[0], output: there[0]), RawChannel(input: there[1], output: there[1]))
        }
    }

    private static var streamType: Int32 {
        #if canImport(Darwin)
            SOCK_STREAM
        #else
            Int32(SOCK_STREAM.rawValue)
        #endif
    }
}
