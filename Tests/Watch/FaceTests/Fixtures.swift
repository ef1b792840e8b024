import Foundation
import MeshBus
import MeshTestSupport
import MeshTransport
import SessionMeshWatchConnectivity
import Testing

/// Time that passes when a test says so.
final class TestClock: DeliveryClock {
    private struct State {
        var elapsed = Duration.zero
        var calls: [(due: Duration, body: @Sendable () -> Void)] = []
    }

    private let state = Locked(State())
    let start = Date(timeIntervalSince1970: 1_750_000_000)

    var elapsed: Duration { state.withLock { $0.elapsed } }
    var wall: Date { start + TimeInterval(elapsed.components.seconds) }
    var passesByItself: Bool { false }

    func wake(at deadline: Duration, _ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.calls.append((deadline, body)) }
    }

    func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.elapsed += duration
            let due = state.calls.filter { $0.due <= state.elapsed }.sorted { $0.due < $1.due }
            state.calls.removeAll { $0.due <= state.elapsed }
            return due
        }
        for call in due { call.body() }
    }
}

/// An app's connection over a session that stands in, in virtual time.
@MainActor
struct Bench<Session: WCSessionProviding>: VirtualBench {
    let clock: TestClock
    let session: Session
    let connection: WatchConnection
    let events: Recorder<DiagnosticEvent>

    init(_ session: Session, clock: TestClock = TestClock(), folder: URL? = nil) {
        OneThread.begin()
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

/// Everything that a stream has brought.
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

// MARK: - What is asked and shared

struct Add: WatchRequest {
    typealias Response = Int
    let left: Int
    let right: Int
}

struct Note: FireAndForgetRequest { let line: Int }

struct Counter: Codable, Sendable, Equatable { var count = 0 }
struct Title: Codable, Sendable, Equatable { var name = "" }
