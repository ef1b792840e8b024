#if MQTT || WebSocket
    import MeshBase
    import Testing

    @testable import MeshRelay

    /// Pauses between connections, of a single device and of two with the same identity.
    @Suite struct ReconnectBackoffTests {
        /// - Returns: The takeovers in ten minutes, and the number of them after which either device reports the
        ///   problem.
        private func takeovers(
            of clones: inout [ReconnectBackoff], _ end: ReconnectBackoff.End, seed: UInt64
        ) -> (count: Int, reportedAfter: Int?) {
            var random = SplitMix64(seed: seed)
            var connectsAt = [Duration.zero, .milliseconds(10)]
            var (holder, since, count) = (Int?.none, Duration.zero, 0)
            var reportedAfter: Int?
            while true {
                let next = connectsAt[0] < connectsAt[1] ? 0 : 1
                let now = connectsAt[next]
                guard now < .seconds(600) else { return (count, reportedAfter) }
                connectsAt[next] = .seconds(10_000)
                if let holder {
                    count += 1
                    connectsAt[holder] = now + clones[holder].next(after: now - since, end, &random)
                    if reportedAfter == nil, clones[holder].problem != nil { reportedAfter = count }
                }
                (holder, since) = (next, now)
            }
        }

        @Test(arguments: 0..<200 as Range<UInt64>, [ReconnectBackoff.End.replaced, .closed])
        func `Two devices with one identity displace each other less and less often`(
            seed: UInt64, end: ReconnectBackoff.End
        ) {
            var clones = [
                ReconnectBackoff(from: .milliseconds(50), to: .seconds(5)),
                ReconnectBackoff(from: .milliseconds(250), to: .seconds(30)),
            ]
            let (count, reportedAfter) = takeovers(of: &clones, end, seed: seed)
            #expect(count <= 20)
            #expect(count >= 4)
            #expect(reportedAfter ?? .max <= 6)
        }

        @Test func `A connection that lasted longer than any pause resets the backoff`() {
            var random = SplitMix64(seed: 1)
            var backoff = ReconnectBackoff(from: .milliseconds(50), to: .seconds(5))
            for _ in 0..<5 { _ = backoff.next(after: .seconds(300), .replaced, &random) }
            #expect(backoff.problem != nil)
            let pause = backoff.next(after: .seconds(601), .replaced, &random)
            #expect(backoff.problem == nil && pause <= .seconds(2))
        }

        @Test func `Failures double the pause up to the longest, and a steady connection resets it`() {
            var random = SplitMix64(seed: 1)
            var backoff = ReconnectBackoff(from: .milliseconds(50), to: .seconds(5))
            let waits = (0..<10).map { _ in backoff.next(after: nil, .failed, &random) }
            #expect(waits[0] <= .milliseconds(50))
            #expect(waits[9] >= .milliseconds(2_500) && waits[9] <= .seconds(5))
            #expect(backoff.next(after: .seconds(4), .failed, &random) >= .milliseconds(2_500))
            #expect(backoff.next(after: .seconds(6), .failed, &random) <= .milliseconds(50))
            #expect(backoff.problem == nil)
        }

        /// A broker that shuts down closes without a reason.
        @Test func `A close without a reason costs no more than a failure`() {
            var random = SplitMix64(seed: 1)
            var backoff = ReconnectBackoff(from: .milliseconds(50), to: .seconds(5))
            #expect(backoff.next(after: .seconds(30), .closed, &random) <= .milliseconds(50))
            #expect(backoff.next(after: nil, .failed, &random) <= .milliseconds(100))
            #expect(backoff.next(after: .seconds(601), .closed, &random) <= .milliseconds(50))
            #expect(backoff.problem == nil)
        }
    }
#endif
