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

        private let wake: ResponderWake
        private let state = Locked(State())

        /// Starts a detached thread that makes a loop and runs it until it is asked to stop or gives up.
        /// - Throws: `DiscoveryError` with `systemCallFailed`.
        init(_ makeLoop: @escaping @Sendable (ResponderWake) -> ResponderLoop) throws(DiscoveryError) {
            wake = try ResponderWake()
            let body = Body { [self] in
                let loop = makeLoop(wake)
                while loop.step(takeRequests()) {}
                loop.end()
                finish()
            }
            let context = Unmanaged.passRetained(body).toOpaque()
            let status = createDetached(context)
            guard status == 0 else {
                Unmanaged<Body>.fromOpaque(context).release()
                throw .systemCallFailed("pthread_create", status)
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

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private func createDetached(_ context: UnsafeMutableRawPointer) -> Int32 {
        #if canImport(Darwin)
            var thread: pthread_t?
            let status = pthread_create(&thread, nil, { enterThread($0) }, context)
            if let thread { pthread_detach(thread) }
        #else
            var thread = pthread_t()
            let status = pthread_create(&thread, nil, { enterThread($0) }, context)
            if status == 0 { pthread_detach(thread) }
        #endif
        return status
    }

    private func enterThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
        return nil
    }

    /// A pipe that ends the thread's wait for the responder.
    final class ResponderWake: Sendable {
        private let input: Int32
        private let output: Int32

        init() throws(DiscoveryError) {
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { throw .systemCallFailed("pipe", errno) }
            for end in ends {
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
                _ = fcntl(end, F_SETFL, O_NONBLOCK)
            }
            (input, output) = (ends[0], ends[1])
        }

        deinit {
            close(input)
            close(output)
        }

        func signal() {
            var byte: UInt8 = 1
            _ = write(output, &byte, 1)
        }

        func clear() {
            var bytes: UInt64 = 0
            while read(input, &bytes, 8) > 0 {}
        }

        /// Waits for a signal or for one of these descriptors.
        /// - Parameter timeoutMilliseconds: nil waits for ever.
        /// - Returns: the indexes of those that are ready.
        func wait(for descriptors: [Int32], timeoutMilliseconds: Int32?) -> [Int] {
            var waiting = ([input] + descriptors).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&waiting, nfds_t(waiting.count), timeoutMilliseconds ?? -1) > 0 else { return [] }
            return descriptors.indices.filter { waiting[$0 + 1].revents != 0 }
        }
    }

    /// 0 when there is none.
    func interfaceIndex(named name: String) -> UInt32 { if_nametoindex(name) }

    extension DiscoveryError {
        static func systemCallFailed(_ call: String, _ errorNumber: Int32) -> DiscoveryError {
            DiscoveryError(.systemCallFailed, "\(call): error \(errorNumber)")
        }
    }
#endif
