import MeshBase
import MeshRequests

/// Maps request names between this library and WatchConnectivitySwift 5, whose frames carry only the bare type name.
final class ReferenceNames: Sendable {
    private struct State {
        var own: [String: String] = [:]
        var reference: [String: String] = [:]
    }

    private let state = Locked(State())

    func note<R: SessionRequest>(_ type: R.Type) {
        let name = String(describing: type)
        state.withLock { state in
            state.own[name] = R.requestType
            state.reference[R.requestType] = name
        }
    }

    /// - Parameter reference: The name in a frame.
    func own(_ reference: String) -> String { state.withLock { $0.own[reference] } ?? reference }

    func reference(_ own: String) -> String {
        state.withLock { $0.reference[own] } ?? own.split(separator: ".").last.map(String.init) ?? own
    }
}
