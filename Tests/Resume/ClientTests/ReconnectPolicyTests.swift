import Testing

@testable import MeshResume

@Suite struct ReconnectPolicyTests {
    /// K19: the usual mistake. All clients wait equally long, and retry whatever the server has answered.
    private struct FaultyPolicy {
        var wait = Duration.seconds(1)

        mutating func delay(after code: CloseCode?) -> Duration? {
            defer { wait *= 2 }
            return wait
        }
    }

    private func complaint(_ makeDelay: (UInt64) -> (CloseCode?) -> Duration?) -> String? {
        let fatal: Set<UInt16> = [4004, 4010, 4011, 4012, 4013, 4014]
        for code in fatal.union([1000, 1006, 4000, 4007, 4008, 4009]) {
            let comes = makeDelay(1)(CloseCode(rawValue: code)) != nil
            if comes == fatal.contains(code) { return "wrong about \(code)" }
        }
        let first = (0..<1000).compactMap { makeDelay($0)(nil) }
        let early = first.filter { $0 < .milliseconds(500) }.count
        return (400...600).contains(early) && Set(first).count > 900 ? nil : "\(early) of 1000 come in the first half"
    }

    @Test func `K19 clients of a lost server reconnect at different times, unless it forbade that`() {
        #expect(
            complaint { seed in
                var policy = ReconnectPolicy(from: .seconds(1), to: .seconds(60), seed: seed)
                return { policy.delay(after: $0) }
            } == nil)
        #expect(
            complaint { _ in
                var policy = FaultyPolicy()
                return { policy.delay(after: $0) }
            } != nil)
    }

    @Test func `K21 waits grow to a maximum, reset after a success, and respect the server's request`() {
        var policy = ReconnectPolicy(from: .seconds(1), to: .seconds(8), seed: 7)
        for longest in [1, 2, 4, 8, 8, 8] {
            let wait = policy.delay(atLeast: .seconds(5)) ?? .zero
            #expect((.seconds(5) ... .seconds(5 + longest)).contains(wait))
        }
        policy.reset()
        #expect(policy.delay() ?? .seconds(9) <= .seconds(1))
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `Two clients with copies of one cursor displace each other less and less often`(seed: UInt64) {
        var clients = [0, 1].map { ReconnectPolicy(from: .seconds(1), to: .seconds(60), seed: seed &+ $0) }
        var connectsAt = [Duration.zero, .milliseconds(10)]
        var (holder, count) = (Int?.none, 0)
        while let now = connectsAt.min(), now < .seconds(600), let next = connectsAt.firstIndex(of: now) {
            connectsAt[next] = .seconds(10_000)
            clients[next].reset()
            if let holder {
                count += 1
                connectsAt[holder] = now + (clients[holder].delay(after: .sessionTimedOut) ?? .zero)
            }
            holder = next
        }
        #expect((4...20).contains(count))
        #expect(clients.allSatisfy { $0.replacedCount >= 2 })
        clients[0].reset(after: .seconds(601))
        #expect(clients[0].replacedCount == 0)
        #expect(clients[0].delay(after: .sessionTimedOut) ?? .zero <= .seconds(2))
    }
}
