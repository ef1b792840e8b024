#if canImport(Combine)
    public import Combine
    import MeshEngine
    import MeshIdentity
    public import MeshSession

    /// Follows a session by Combine where available, the third of three ways: for code that already uses pipelines.
    @MainActor
    public final class GroceryTicker: ObservableObject {
        @Published public private(set) var line = ""
        private var subscriptions: Set<AnyCancellable> = []

        public init(_ session: GrocerySession) {
            // Updates arrive on the main actor, like everything that a session publishes.
            session.updatesPublisher().sink { [weak self] in self?.show($0) }.store(in: &subscriptions)
        }

        private func show(_ update: GroceryUpdate) {
            guard case .applied(let events, _) = update, let last = events.last else { return }
            line = "\(last.envelope.metadata.sourcePeerID): \(last.envelope.payload)"
        }
    }
#endif
