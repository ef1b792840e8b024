import Dispatch
import Foundation
import MeshBase
import MeshDelivery
import MeshIdentity
import MeshTestSupport
import MeshTransport
import MeshWire
import Testing

@testable import MeshPipeTransport

/// Raw descriptors for tests. Blocking calls run on Dispatch's threads, never on Swift's.
enum Plumbing {
    struct Failed: Error {}

    /// A pipe. The caller closes its ends.
    static func pipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Foundation.pipe(&ends) == 0 else { throw Failed() }
        return (ends[0], ends[1])
    }

    static func socketPair() throws -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        #if canImport(Glibc)
            let kind = Int32(SOCK_STREAM.rawValue)
        #else
            let kind = SOCK_STREAM
        #endif
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw Failed() }
        return (ends[0], ends[1])
    }

    /// A socket that is bound to the path and takes datagrams, so nothing can connect to it as a stream.
    static func datagramSocket(at path: String) throws -> Int32 {
        #if canImport(Glibc)
            let kind = Int32(SOCK_DGRAM.rawValue)
        #else
            let kind = SOCK_DGRAM
        #endif
        let descriptor = socket(AF_UNIX, kind, 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw Failed() }
        return descriptor
    }

    /// Starts a process that echoes its input. The caller closes the ends of the pipes to it and from it.
    static func startEcho() throws -> (Process, to: Int32, from: Int32) {
        try startingAlone {
            let (input, output, process) = (try pipe(), try pipe(), Process())
            process.executableURL = URL(fileURLWithPath: "/bin/cat")
            process.standardInput = FileHandle(fileDescriptor: input.read, closeOnDealloc: false)
            process.standardOutput = FileHandle(fileDescriptor: output.write, closeOnDealloc: false)
            // These would keep the other end of a pipe open.
            defer { for descriptor in [input.read, output.write] { close(descriptor) } }
            for descriptor in [input.write, output.read] { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
            try process.run()
            return (process, input.write, output.read)
        }
    }

    /// All bytes until the other side closes.
    static func readAll(_ descriptor: Int32) async -> [UInt8] {
        await onOwnThread {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                guard count > 0 else { return bytes }
                bytes += buffer[..<count]
            }
        }
    }

    /// Writes the bytes in pieces of at most `pieces` bytes, and leaves the descriptor open.
    static func write(_ bytes: [UInt8], to descriptor: Int32, pieces: Int = .max) async {
        await onOwnThread {
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = rest.prefix(pieces)
                let count = piece.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }
    }

    private static func onOwnThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "plumbing").async { continuation.resume(returning: body()) }
        }
    }
}

/// A socket's path in a separate folder.
final class Place: Sendable {
    let folder: String
    var path: String { folder + "/socket" }

    init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/" + UUID().uuidString.prefix(13)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    var contents: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] }

    func mode(of path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? 0
    }
}

struct JSONTestCodec: PayloadCodec {
    var id = PayloadCodecID(number: 200, name: "json-test")

    func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] { Array(try JSONEncoder().encode(value)) }

    func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }
}

/// Sample peers and messages.
enum Sample {
    static let session = UUID(uuid: (7, 0, 0, 0, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, 1))

    static var configuration: DeliveryConfiguration {
        var configuration = DeliveryConfiguration()
        configuration.codec = JSONTestCodec()
        configuration.compression = .stored
        return configuration
    }

    static func peer(_ id: String) -> SessionPeer {
        SessionPeer(id: id, deviceClass: .unknown, appInstanceID: "1", topology: .sameHost)
    }

    static func metadata(_ sequence: UInt64, from id: String = "phone") -> SessionSyncMetadata {
        SessionSyncMetadata(
            sessionID: session, featureID: "workout", sourcePeerID: id, sequence: sequence,
            causalTimestamp: Date(timeIntervalSince1970: 1_767_225_600), payloadType: "text")
    }

    static func envelope(_ sequence: UInt64, from id: String = "phone", text: String = "lap") throws
        -> AnySessionSyncEnvelope
    {
        try AnySessionSyncEnvelope(
            SessionSyncEnvelope(metadata: metadata(sequence, from: id), payload: [text]))
    }

    static func snapshot(_ revision: UInt64, from id: String = "phone") throws -> AnySessionSyncSnapshot {
        try AnySessionSyncSnapshot(
            SessionSyncSnapshot(
                metadata: metadata(revision, from: id), revision: revision, state: ["state"],
                peerSequenceVector: [id: revision]))
    }

    static func hello(_ id: String = "phone", codecs: [UInt8] = [200]) -> WireMessage {
        .hello(WireHello(peer: peer(id), codecs: codecs))
    }

    /// The frames of one connection, as separate arrays.
    static func frames(_ messages: [WireMessage]) throws -> [[UInt8]] {
        var encoder = FrameEncoder(codec: JSONTestCodec(), compression: .stored, interning: true)
        var frames: [[UInt8]] = []
        for message in messages { frames.append(try encoder.encode(message)) }
        return frames
    }

    /// The messages that a peer wrote.
    static func messages(in bytes: [UInt8]) throws -> [WireMessage] {
        var decoder = FrameStreamDecoder(codecs: try CodecTable([JSONTestCodec()]))
        decoder.append(bytes)
        var messages: [WireMessage] = []
        while let message = try decoder.next() { messages.append(message) }
        return messages
    }
}

/// A transport named watch whose descriptors end in the test.
struct Tapped {
    let transport: PipeSessionSyncTransport
    let diagnostics = Topic<SessionDiagnosticEvent>()
    /// The test writes here, and the transport reads it.
    let feed: Int32
    /// The transport writes here, and the test reads it.
    let tap: Int32

    init() throws {
        let (input, output) = (try Plumbing.pipe(), try Plumbing.pipe())
        transport = try PipeSessionSyncTransport(
            localPeer: Sample.peer("watch"), input: input.read, output: output.write, closesDescriptors: true,
            configuration: Sample.configuration, diagnostics: diagnostics)
        feed = input.write
        tap = output.read
    }

    /// Ends the input and waits until the transport has closed its descriptors.
    /// - Returns: everything that the transport wrote.
    func finish(closesFeed: Bool = true) async -> [UInt8] {
        if closesFeed { close(feed) }
        defer { close(tap) }
        return await Plumbing.readAll(tap)
    }
}

/// All elements of a stream, up to its end.
func drain<Element: Sendable>(_ stream: AsyncStream<Element>) async -> [Element] {
    var elements: [Element] = []
    for await element in stream { elements.append(element) }
    return elements
}

extension [SessionDiagnosticEvent] {
    var rejections: [String] {
        compactMap { event in
            guard case .rejected(_, let reason) = event else { return nil }
            return reason
        }
    }
}
