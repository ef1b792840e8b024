#if canImport(Combine)
    public import Combine
    import MeshBase
    import MeshEngine

    extension SyncedSession {
        /// Returns `updates()` as a publisher. Each subscriber has its own buffer, and gets a `snapshot` if it falls
        /// behind. Completes when the session closes or is released, and doesn't keep it alive.
        public func updatesPublisher(bufferLimit: Int = 1024) -> StreamPublisher<SessionUpdate<State, Event>> {
            StreamPublisher { [weak self] in self?.updates(bufferLimit: bufferLimit) ?? .finished }
        }

        /// Returns `states()` as a publisher: the current state, then the newest with each request.
        public func statesPublisher() -> StreamPublisher<State> {
            StreamPublisher { [weak self] in self?.states() ?? .finished }
        }
    }

    /// A publisher of any stream of a session: `StreamPublisher { session.alarms() }`.
    ///
    /// Each subscriber starts a stream of its own and gets as many elements as it requests, on the main actor. Other
    /// elements wait in that stream's bounded buffer. Completes when the stream has ended and the subscriber requests
    /// one more. Subscribe, request and cancel from any thread.
    public struct StreamPublisher<Output: Sendable>: Publisher, Sendable {
        public typealias Failure = Never

        private let stream: @MainActor @Sendable () -> AsyncStream<Output>

        /// Creates a publisher of a stream's elements.
        ///
        /// - Parameter stream: makes a stream for each subscriber.
        public init(_ stream: @escaping @MainActor @Sendable () -> AsyncStream<Output>) { self.stream = stream }

        public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Never {
            let subscription = StreamSubscription(subscriber)
            subscriber.receive(subscription: subscription)
            subscription.start(stream)
        }
    }

    private final class StreamSubscription<S: Subscriber>: Subscription, Sendable
    where S.Input: Sendable, S.Failure == Never {
        /// A sendable box: Combine's subscribers aren't sendable. This one gets elements on the main actor only.
        private struct Held: @unchecked Sendable {
            let subscriber: S
        }

        private let held: Locked<Held?>
        private let pump = DemandPump()

        init(_ subscriber: S) { held = Locked(Held(subscriber: subscriber)) }

        func start(_ stream: @escaping @MainActor @Sendable () -> AsyncStream<S.Input>) {
            // Weak, because the subscriber keeps its subscription alive.
            pump.start(stream) { [weak self] element in
                self?.subscriber.map { $0.receive(element).max } ?? 0
            } finish: { [weak self] in
                let subscriber = self?.subscriber
                self?.cancel()
                subscriber?.receive(completion: .finished)
            }
        }

        private var subscriber: S? { held.withLock { $0?.subscriber } }

        func request(_ demand: Subscribers.Demand) { pump.request(demand.max) }

        func cancel() {
            pump.cancel()
            held.withLock { $0 = nil }
        }
    }

    extension AsyncStream where Element: Sendable {
        fileprivate static var finished: Self { Self { $0.finish() } }
    }
#endif
