import Foundation
import MeshBase
import MeshTesting
import MeshTransport
import SessionMeshWatchConnectivity
import Testing

/// An app's connection over a stand-in session, in virtual time.
@MainActor
struct Bench<Session: WCSessionProviding>: VirtualBench {
    let clock: ManualClock
    let session: Session
    let connection: WatchConnection
    let events: Recorder<DiagnosticEvent>

    init(_ session: Session, clock: ManualClock = ManualClock(), folder: URL? = nil) {
        self.clock = clock
        self.session = session
        connection = WatchConnection(
            session: session,
            configuration: WatchConnection.Configuration(localPeer: here, folder: folder, clock: clock))
        events = Recorder(connection.diagnosticEvents)
    }

    var elapsed: Duration { clock.elapsed }
    var world: String { "nothing was drawn" }
    func advance() { clock.advance(by: .milliseconds(10)) }
}

let here = SessionPeer(id: "phone", deviceClass: .phone, appInstanceID: "1", topology: .pairedCompanion)

/// Collects all elements of a stream.
@MainActor
final class Recorder<Element> {
    private(set) var all: [Element] = []
    private(set) var isOver = false
    private var task: Task<Void, Never>?

    init(_ stream: AsyncStream<Element>) {
        nonisolated(unsafe) let stream = stream
        task = Task { [weak self] in
            for await element in stream {
                guard let self else { return }
                self.all.append(element)
            }
            self?.isOver = true
        }
    }

    func cancel() { task?.cancel() }

    deinit { task?.cancel() }
}

// MARK: - Requests and shared states

struct Add: WatchRequest {
    typealias Response = Int
    let left: Int
    let right: Int
}

struct Note: FireAndForgetRequest { let line: Int }

struct Counter: Codable, Sendable, Equatable { var count = 0 }
struct Title: Codable, Sendable, Equatable { var name = "" }
