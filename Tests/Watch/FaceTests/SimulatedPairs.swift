import Foundation
import MeshBase
import SessionMeshWatchConnectivity
import Testing

/// A bench whose time is that of a simulated pair.
@MainActor
protocol PairBench: VirtualBench {
    var pair: SimulatedWatchPair { get }
}

extension PairBench {
    var elapsed: Duration { pair.elapsed }
    var world: String { "seed \(pair.seed)" }
    func advance() { pair.advance(by: .milliseconds(20)) }
}

struct NotLaunched: Error {}

/// A folder that is deleted with the object.
final class TemporaryFolder: Sendable {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("WatchConnection-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: url) }
}

/// A phone with this library, and a watch with WatchConnectivitySwift 5.
@MainActor
struct MixedPair: PairBench {
    let pair: SimulatedWatchPair
    let phone: WatchConnection
    let watch: OldApp
    private let folder: TemporaryFolder

    init(
        seed: UInt64 = 1, encoder: JSONEncoder = JSONEncoder(), decoder: JSONDecoder = JSONDecoder()
    ) throws {
        pair = SimulatedWatchPair(seed: seed, conditions: .calm)
        folder = try TemporaryFolder()
        guard let phoneSession = pair.phone.launch(), let watchSession = pair.watch.launch() else {
            throw NotLaunched()
        }
        watch = OldApp(watchSession)
        let configuration = WatchConnection.Configuration(
            localPeer: here, store: .memory, folder: folder.url.appendingPathComponent("phone"), clock: pair.clock)
        phone = pair.phone.run {
            WatchConnection(
                session: phoneSession, encoder: encoder, decoder: decoder, configuration: configuration)
        }
    }

    func write(_ name: String, _ text: String) throws -> URL {
        let url = folder.url.appendingPathComponent(name)
        try Data(text.utf8).write(to: url)
        return url
    }

    /// Updates the watch's app to this library.
    func updateWatch() throws -> WatchConnection {
        guard let session = pair.watch.relaunch() else { throw NotLaunched() }
        let configuration = WatchConnection.Configuration(
            localPeer: there, store: .memory, folder: folder.url.appendingPathComponent("watch"), clock: pair.clock)
        return pair.watch.run { WatchConnection(session: session, configuration: configuration) }
    }
}
