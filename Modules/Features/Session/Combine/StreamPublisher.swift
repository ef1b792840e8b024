#if canImport(Combine)
    public import Combine
    import MeshBase
    import MeshEngine

    extension SyncedSession {
        /// `updates()` for Combine: each subscriber has a buffer of its own, and is left a `snapshot` where it asks for less than
        /// happens. Ends with the session, also where that is let go of; does not keep it alive.
        public func updatesPublisher(bufferLimit: Int = 1024) -> StreamPublisher<SessionUpdate<State, Event>> {
            StreamPublisher { [weak self] in self?.updates(bufferLimit: bufferLimit) ?? .finished }
        }

        /// `states()` for Combine: the state now, and then the newest when it is asked for.
        public func statesPublisher() -> StreamPublisher<State> {
            StreamPublisher { [weak self] in self?.states() ?? .finished }
        }
    }

    /// A stream for Combine: any of a session's, `StreamPublisher { session.alarms() }`.
    ///
    /// Each subscriber begins a stream of its own and has as many of its elements as it asks for, on the main actor; what it does
    /// not ask for waits in that stream's bounded buffer. Completes when it asks for one more and there is none. Subscribe,
    /// ask and cancel from any thread.
    public struct StreamPublisher<Output: Sendable>: Publisher, Sendable {
        public typealias Failure = Never

        private let stream: @MainActor @Sendable () -> AsyncStream<Output>

        /// Creates a publisher of a stream's elements.
        ///
        /// - Parameter stream: makes one for each subscriber.
        public init(_ stream: @escaping @MainActor @Sendable () -> AsyncStream<Output>) { self.stream = stream }

        public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Never {
            let subscription = StreamSubscription(subscriber)
            subscriber.receive(subscription: subscription)
            subscription.start(stream)
        }
    }

    private final class StreamSubscription<S: Subscriber>: Subscription, Sendable
    where S.Input: Sendable, S.Failure == Never {
        /// Combine's subscribers know nothing of `Sendable`: this one is called on the main actor alone.
        private struct Held: @unchecked Sendable {
            let subscriber: S
        }

        private let held: Locked<Held?>
        private let pump = DemandPump()

        init(_ subscriber: S) { held = Locked(Held(subscriber: subscriber)) }

        func start(_ stream: @escaping @MainActor @Sendable () -> AsyncStream<S.Input>) {
            // A subscriber holds its subscription, and is held until that ends.
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
