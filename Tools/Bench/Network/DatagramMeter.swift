#if UDP
    import Foundation
    import MeshBase

    /// Measures one end against an end that answers (`DatagramSink`). All work happens on the thread where datagrams arrive, so
    /// the measurement adds no thread hop.
    ///
    /// A flood has at most two bursts in flight, so that no socket buffer overflows. The other end acknowledges each burst with
    /// one datagram. A burst without a timely acknowledgement counts as lost.
    final class DatagramMeter: Sendable {
        /// The kind of a datagram, in its first byte.
        enum Kind: UInt8 {
            case ignored, counted, question, burstArrived, answer
        }

        static let messageBytes = 256
        static let burst = 64
        private static let burstsUnderWay = 2

        fileprivate struct State {
            var send: (@Sendable ([[UInt8]]) -> Void)?
            var burstsToSend = 0
            var burstsToArrive = 0
            var times: [Duration] = []
            var questions = 0
            var asked = ContinuousClock.now
            var finish: CheckedContinuation<Void, Never>?
            /// Changes with every arrival.
            var progress = 0
        }

        private let state = Locked(State())
        private let lost = Locked(0)

        /// Number of bursts that were not acknowledged.
        var lostBursts: Int { lost.withLock { $0 } }

        func attach(_ end: any DatagramEnd) { state.withLock { $0.send = { end.send($0) } } }

        func received(_ bytes: UnsafeRawBufferPointer) {
            switch bytes.first.flatMap(Kind.init) {
            case .burstArrived: advance(by: 1)
            case .answer:
                let now = ContinuousClock.now
                let (isAsking, finish) = state.withLock { state in
                    state.progress += 1
                    state.times.append(state.asked.duration(to: now))
                    state.questions -= 1
                    return (state.questions > 0, state.questions == 0 ? state.takeFinish() : nil)
                }
                if isAsking { ask() }
                finish?.resume()
            default: break
            }
        }

        /// - Returns: Time until all bursts were acknowledged.
        func flood(_ count: Int) async -> Duration {
            let start = ContinuousClock.now
            await finished { state in
                state.burstsToSend = count / Self.burst
                state.burstsToArrive = state.burstsToSend
            } begin: {
                for _ in 0..<Self.burstsUnderWay { sendBurst() }
            } stalled: { [self] in
                let missing = state.withLock { min(Self.burstsUnderWay, $0.burstsToArrive) }
                lost.withLock { $0 += missing }
                for _ in 0..<missing { advance(by: 1) }
            }
            return start.duration(to: .now)
        }

        /// Asks one question after the other.
        /// - Returns: Time from each question to its answer.
        func ask(_ count: Int) async -> [Duration] {
            await finished {
                $0.questions = count
                $0.times = []
            } begin: {
                ask()
            } stalled: { [self] in
                ask()
            }
            return state.withLock { $0.times }
        }

        // MARK: -

        private func finished(
            _ prepare: (inout State) -> Void, begin: () -> Void, stalled: @escaping @Sendable () -> Void
        ) async {
            state.withLock(prepare)
            let watch = Task {
                var seen = -1
                while !Task.isCancelled {
                    let progress = state.withLock { $0.progress }
                    if progress == seen { stalled() }
                    seen = progress
                    try await Task.sleep(for: .milliseconds(200))
                }
            }
            await withCheckedContinuation { finish in
                state.withLock { $0.finish = finish }
                begin()
            }
            watch.cancel()
        }

        private func advance(by count: Int) {
            let finish = state.withLock { state in
                state.progress += 1
                state.burstsToArrive -= count
                return state.burstsToArrive == 0 ? state.takeFinish() : nil
            }
            sendBurst()
            finish?.resume()
        }

        private func sendBurst() {
            let send = state.withLock { state in
                guard state.burstsToSend > 0 else { return nil as (@Sendable ([[UInt8]]) -> Void)? }
                state.burstsToSend -= 1
                return state.send
            }
            send?(Array(repeating: Self.message(.counted), count: Self.burst))
        }

        private func ask() {
            let send = state.withLock { state in
                state.asked = .now
                return state.send
            }
            send?([Self.message(.question)])
        }

        static func message(_ kind: Kind) -> [UInt8] {
            [kind.rawValue] + [UInt8](repeating: 1, count: messageBytes - 1)
        }
    }

    extension DatagramMeter.State {
        fileprivate mutating func takeFinish() -> CheckedContinuation<Void, Never>? {
            defer { finish = nil }
            return finish
        }
    }
#endif
