import MeshBase

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The thread that keeps a link connected through a Unix socket: it listens and accepts, or connects again and again.
///
/// A peer with the role `either` first tries to listen, and connects if another process listens already. Only one
/// process at a time can claim a path (`SocketListener`). Of two that start together, one listens; the other finds the
/// path taken and connects. After a connection ends, it starts over. If the listener is gone, the first process to
/// claim the path listens.
final class SocketKeeper: Sendable {
    enum Role {
        case listens, connects, either
    }

    /// The minimum duration of a successful connection. It exceeds the longest pause, so two peers that end each
    /// other's connections back off.
    private static let successSeconds = 10.0

    static var backoff: Backoff { Backoff(from: .milliseconds(100), to: .seconds(5)) }

    private let path: UnixSocketPath
    private let role: Role
    private let seed: UInt64
    private let wake: WakePipe
    private let isStopped = Locked(false)
    private let listens = Locked(false)
    /// The listener that `start` has made for the thread.
    private let first = Locked<SocketListener?>(nil)

    /// - Throws: `PipeError` with `invalidPath` or `systemCallFailed`.
    init(path: String, role: Role, seed: UInt64) throws(PipeError) {
        self.path = try UnixSocketPath(path)
        self.role = role
        self.seed = seed
        wake = try PipeError.translating(WakePipe())
    }

    /// Starts the thread. Errors that can be found at once are thrown.
    /// - Throws: the errors of `SocketListener`, except `addressInUse` if this side may connect instead.
    func start(for link: PipeLink) throws(PipeError) {
        if role == .connects {
            try path.checkOwner()
        } else {
            do throws(PipeError) {
                let listener = try SocketListener(path)
                first.withLock { $0 = listener }
            } catch  where role == .either && error.code == .addressInUse {}
        }
        do throws(PipeError) {
            try PipeError.translating(
                BlockingThread.start {
                    self.run(for: link)
                    link.keeperEnded()
                })
        } catch {
            first.withLock { $0 = nil }
            throw error
        }
    }

    func stop() {
        isStopped.withLock { $0 = true }
        wake.signal()
    }

    /// True while this side listens, so that other processes can connect to it.
    var isListening: Bool { listens.withLock { $0 } }

    /// Wakes the thread after a connection has ended.
    func wakeUp() { wake.signal() }

    // MARK: - The thread

    private func run(for link: PipeLink) {
        // Frees the path even if the thread was stopped before it took the listener.
        defer { first.withLock { $0 = nil } }
        var random = SplitMix64(seed: seed)
        var backoff = Self.backoff
        var isFirst = true
        while isRunning {
            do throws(PipeError) {
                if let listener = try nextListener() { serve(listener, for: link) }
            } catch {
                link.refused(error)
            }
            if !isFirst { pause(for: backoff.next(&random)) }
            isFirst = false
            guard isRunning, role != .listens else { continue }
            do throws(PipeError) {
                if keep(try path.connect(), for: link) { backoff.reset() }
            } catch {
                link.refused(error)
            }
        }
    }

    private func nextListener() throws(PipeError) -> SocketListener? {
        let prepared = first.withLock { first in
            defer { first = nil }
            return first
        }
        if let prepared { return prepared }
        return role == .connects ? nil : try SocketListener(path)
    }

    private var isRunning: Bool { isStopped.withLock { !$0 } }

    /// Accepts connections until the keeper is stopped or the listener breaks.
    private func serve(_ listener: SocketListener, for link: PipeLink) {
        listens.withLock { $0 = true }
        defer { listens.withLock { $0 = false } }
        while isRunning {
            switch wake.wait(for: listener.descriptor, POLLIN) {
            case .woken, .timedOut: wake.clear()
            case .failed: return
            case .ready:
                if let descriptor = UnixSocketPath.accept(from: listener.descriptor) {
                    admit(descriptor, for: link)
                } else if [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(errno) {
                    pause(for: .milliseconds(100))
                } else if ![EINTR, EAGAIN, EWOULDBLOCK, ECONNABORTED].contains(errno) {
                    return
                }
            }
        }
    }

    /// Accepts a connection from a process of this user, and rejects others.
    private func admit(_ descriptor: Int32, for link: PipeLink) {
        do throws(PipeError) {
            let user = try SocketUser.of(descriptor)
            guard user == FileAccess.thisUser else {
                throw PipeError(
                    code: .otherUser,
                    message:
                        "rejected a process of user \(user) that connected to \(path.value): run both as one user",
                    errorNumber: 0)
            }
        } catch {
            UnixSocketPath.discard(descriptor)
            return link.refused(error)
        }
        // Beyond the limit it is closed at once: the other side tries again and backs off.
        _ = link.adopt(descriptor)
    }

    /// Returns when the connection has ended.
    /// - Returns: true if the connection was successful: it received bytes and lasted longer than `successSeconds`.
    private func keep(_ descriptor: Int32, for link: PipeLink) -> Bool {
        let start = ContinuousClock.now
        guard let stream = link.adopt(descriptor) else { return false }
        while isRunning, link.serves(stream) {
            _ = wake.wait()
            wake.clear()
        }
        return stream.hasReceived && ContinuousClock.now - start > .seconds(Self.successSeconds)
    }

    private func pause(for duration: Duration) {
        let deadline = ContinuousClock.now + duration
        while isRunning, ContinuousClock.now < deadline {
            let rest = (deadline - .now) / .milliseconds(1)
            // The end of a connection doesn't shorten the pause.
            _ = wake.wait(timeoutMilliseconds: Int32(max(1, min(rest, 60_000))))
            wake.clear()
        }
    }
}
