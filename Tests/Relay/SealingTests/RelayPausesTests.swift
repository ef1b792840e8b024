#if MQTT || WebSocket
    import MeshBase
    import Testing

    @testable import MeshRelay

    /// Pauses between connections, of a device alone and of two with one identity.
    @Suite struct RelayPausesTests {
        /// - Returns: takeovers in ten minutes, and after how many either device is told.
        private func takeovers(of clones: inout [RelayPauses], seed: UInt64) -> (count: Int, toldAfter: Int?) {
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
                    connectsAt[holder] = now + clones[holder].next(after: now - since, isReplaced: true, &random)
                    if toldAfter == nil, clones[holder].isCloned { toldAfter = count }
                }
                (holder, since) = (next, now)
            }
        }

        @Test(arguments: 0..<200 as Range<UInt64>)
        func `Two devices with one identity take the place from each other less and less often`(seed: UInt64) {
            var clones = [
                RelayPauses(from: .milliseconds(50), to: .seconds(5)),
                RelayPauses(from: .milliseconds(250), to: .seconds(30)),
            ]
            let (count, toldAfter) = takeovers(of: &clones, seed: seed)
            #expect(count <= 20)
            #expect(count >= 4)
            #expect(toldAfter ?? .max <= 4)
        }

        @Test func `A connection that lasted longer than any pause begins the pauses anew`() {
            var random = SplitMix64(seed: 1)
            var pauses = RelayPauses(from: .milliseconds(50), to: .seconds(5))
            for _ in 0..<5 { _ = pauses.next(after: .seconds(300), isReplaced: true, &random) }
            #expect(pauses.isCloned)
            let pause = pauses.next(after: .seconds(601), isReplaced: true, &random)
            #expect(!pauses.isCloned && pause <= .seconds(2))
        }

        @Test func `Failures double up to the longest pause, and a steady connection ends their series`() {
            var random = SplitMix64(seed: 1)
            var pauses = RelayPauses(from: .milliseconds(50), to: .seconds(5))
            let waits = (0..<10).map { _ in pauses.next(after: nil, isReplaced: false, &random) }
            #expect(waits[0] <= .milliseconds(50))
            #expect(waits[9] >= .milliseconds(2_500) && waits[9] <= .seconds(5))
            #expect(pauses.next(after: .seconds(4), isReplaced: false, &random) >= .milliseconds(2_500))
            #expect(pauses.next(after: .seconds(6), isReplaced: false, &random) <= .milliseconds(50))
            #expect(!pauses.isCloned)
        }
    }
#endif
