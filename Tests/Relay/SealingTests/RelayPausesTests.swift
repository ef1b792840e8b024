#if MQTT || WebSocket
    import MeshBase
    import Testing

    @testable import MeshRelay

    /// Pauses between connections, of a device alone and of two with one identity.
    @Suite struct RelayPausesTests {
        /// - Returns: takeovers in ten minutes, and after how many either device is told.
        private func takeovers(
            of clones: inout [RelayPauses], _ end: RelayPauses.End, seed: UInt64
        ) -> (count: Int, toldAfter: Int?) {
            var random = SplitMix64(seed: seed)
            var connectsAt = [Duration.zero, .milliseconds(10)]
            var (holder, since, count) = (Int?.none, Duration.zero, 0)
            var toldAfter: Int?
            while true {
                let next = connectsAt[0] < connectsAt[1] ? 0 : 1
                let now = connectsAt[next]
                guard now < .seconds(600) else { return (count, toldAfter) }
                connectsAt[next] = .seconds(10_000)
                if let holder {
                    count += 1
                    connectsAt[holder] = now + clones[holder].next(after: now - since, end, &random)
                    if toldAfter == nil, clones[holder].problem != nil { toldAfter = count }
                }
                (holder, since) = (next, now)
            }
        }

        @Test(arguments: 0..<200 as Range<UInt64>, [RelayPauses.End.replaced, .closed])
        func `Two devices with one identity take the place from each other less and less often`(
            seed: UInt64, end: RelayPauses.End
        ) {
            var clones = [
                RelayPauses(from: .milliseconds(50), to: .seconds(5)),
                RelayPauses(from: .milliseconds(250), to: .seconds(30)),
            ]
            let (count, toldAfter) = takeovers(of: &clones, end, seed: seed)
            #expect(count <= 20)
            #expect(count >= 4)
            #expect(toldAfter ?? .max <= 6)
        }

        @Test func `A connection that lasted longer than any pause begins the pauses anew`() {
            var random = SplitMix64(seed: 1)
            var pauses = RelayPauses(from: .milliseconds(50), to: .seconds(5))
            for _ in 0..<5 { _ = pauses.next(after: .seconds(300), .replaced, &random) }
            #expect(pauses.problem != nil)
            let pause = pauses.next(after: .seconds(601), .replaced, &random)
            #expect(pauses.problem == nil && pause <= .seconds(2))
        }

        @Test func `Failures double up to the longest pause, and a steady connection ends their series`() {
            var random = SplitMix64(seed: 1)
            var pauses = RelayPauses(from: .milliseconds(50), to: .seconds(5))
            let waits = (0..<10).map { _ in pauses.next(after: nil, .failed, &random) }
            #expect(waits[0] <= .milliseconds(50))
            #expect(waits[9] >= .milliseconds(2_500) && waits[9] <= .seconds(5))
            #expect(pauses.next(after: .seconds(4), .failed, &random) >= .milliseconds(2_500))
            #expect(pauses.next(after: .seconds(6), .failed, &random) <= .milliseconds(50))
            #expect(pauses.problem == nil)
        }

        /// A broker that ends does so too.
        @Test func `One close without a reason costs no more than a failure`() {
            var random = SplitMix64(seed: 1)
            var pauses = RelayPauses(from: .milliseconds(50), to: .seconds(5))
            #expect(pauses.next(after: .seconds(30), .closed, &random) <= .milliseconds(50))
            #expect(pauses.next(after: nil, .failed, &random) <= .milliseconds(100))
            #expect(pauses.next(after: .seconds(601), .closed, &random) <= .milliseconds(50))
            #expect(pauses.problem == nil)
        }
    }
#endif
