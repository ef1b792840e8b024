#if SystemDiscovery || canImport(Darwin)
    internal import MeshBus

    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// The thread on which the system's responder is talked to, and what others ask of it.
    ///
    /// At most one announcement waits: a newer one takes its place.
    final class ResponderThread: Sendable {
        enum Request {
            case announce(ServiceAnnouncement?)
            case stop(CheckedContinuation<Void, Never>?)
        }

        /// What waits for the thread.
        struct Requests {
            /// The inner nil takes an announcement back.
            var announcement: ServiceAnnouncement??
            var stops = false
            var waiters: [CheckedContinuation<Void, Never>] = []
        }

        private struct State {
            var requests = Requests()
            var hasEnded = false
        }

        private let wake: WakePipe
        private let state = Locked(State())

        /// Starts a detached thread that makes a loop and runs it until it is asked to stop or gives up.
        /// - Throws: `DiscoveryError` with `systemCallFailed`.
        init(_ makeLoop: @escaping @Sendable (WakePipe) -> ResponderLoop) throws(DiscoveryError) {
            do throws(SystemCallError) {
                wake = try WakePipe()
                try BlockingThread.start { [self, wake] in
                    let loop = makeLoop(wake)
                    while loop.step(takeRequests()) {}
                    loop.end()
                    finish()
                }
            } catch {
                throw DiscoveryError(.systemCallFailed, "\(error.call): error \(error.errorNumber)")
            }
        }

        func post(_ request: Request) {
            let answered: CheckedContinuation<Void, Never>? = state.withLock { state in
                switch request {
                case .announce(let announcement): state.requests.announcement = .some(announcement)
                case .stop(let waiter):
                    if state.hasEnded { return waiter }
                    state.requests.stops = true
                    if let waiter { state.requests.waiters.append(waiter) }
                }
                return nil
            }
            answered?.resume()
            wake.signal()
        }

        private func takeRequests() -> Requests {
            wake.clear()
            return state.withLock { state in
                let requests = state.requests
                state.requests.announcement = nil
                return requests
            }
        }

        private func finish() {
            let waiters = state.withLock { state in
                state.hasEnded = true
                defer { state.requests.waiters = [] }
                return state.requests.waiters
            }
            for waiter in waiters { waiter.resume() }
        }
    }

    /// 0 when there is none.
    func interfaceIndex(named name: String) -> UInt32 { if_nametoindex(name) }
#endif
