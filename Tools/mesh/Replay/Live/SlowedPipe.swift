#if CommandLineTools
    import Foundation
    import MeshBase

    /// A pipe between two processes that delays all bytes, and holds them back while the two are disconnected.
    ///
    /// It loses and changes nothing, like a radio link whose lower layer repeats lost data. It stops reading while 1 MiB waits.
    final class SlowedPipe: Sendable {
        private static let waitingMax = 1 << 20

        private struct State {
            var isHeld = false
            var reopenedAt: ContinuousClock.Instant?
            var waitingBytes = 0
        }

        private let delay: Duration
        private let state = Locked(State())

        /// - Parameter onBytes: Called on the pipe's own thread whenever bytes arrive.
        /// - Throws: `SystemCallError` if the system can't start a thread.
        init(
            from input: FileHandle, to output: FileHandle, delay: Duration,
            onBytes: @escaping @Sendable () -> Void = {}
        ) throws {
            self.delay = delay
            let (chunks, chunk) = AsyncStream<(data: Data, at: ContinuousClock.Instant)>.makeStream()
            try BlockingThread.start { [state] in
                while true {
                    let data = input.availableData
                    guard !data.isEmpty else { break }
                    state.withLock { $0.waitingBytes += data.count }
                    onBytes()
                    guard case .enqueued = chunk.yield((data, .now)) else { break }
                    while state.withLock({ $0.waitingBytes > Self.waitingMax }) {
                        BlockingThread.sleep(.milliseconds(10))
                    }
                }
                chunk.finish()
                try? input.close()
            }
            Task {
                for await (data, at) in chunks {
                    do {
                        try await self.wait(from: at)
                        try output.write(contentsOf: data)
                    } catch {
                        // The reader is gone. The writing peer notices when this pipe accepts no more.
                        chunk.finish()
                    }
                    state.withLock { $0.waitingBytes -= data.count }
                }
                try? output.close()
            }
        }

        /// Holds back all bytes, including those in flight, or releases them.
        func hold(_ isHeld: Bool) {
            state.withLock { state in
                if state.isHeld, !isHeld { state.reopenedAt = .now }
                state.isHeld = isHeld
            }
        }

        /// Waits until the chunk may leave. Held bytes take the usual delay after the pipe reopens.
        private func wait(from start: ContinuousClock.Instant) async throws {
            while true {
                let (isHeld, reopenedAt) = state.withLock { ($0.isHeld, $0.reopenedAt) }
                let left = max(start, reopenedAt ?? start) + delay - .now
                if left <= .zero, !isHeld { return }
                try await Task.sleep(for: max(.milliseconds(5), min(left, .milliseconds(50))))
            }
        }
    }
#endif
