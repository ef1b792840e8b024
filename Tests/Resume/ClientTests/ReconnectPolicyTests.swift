import Testing

@testable import MeshResume

@Suite struct ReconnectPolicyTests {
    /// K19: what everybody builds: the same wait for everybody, and another try whatever the server has said.
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

    @Test func `K19 who lost one server comes again at times of their own, unless it said not to`() {
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

    @Test func `K21 waits grow to their longest, begin anew after a success, and keep what the server asked`() {
        var policy = ReconnectPolicy(from: .seconds(1), to: .seconds(8), seed: 7)
        for longest in [1, 2, 4, 8, 8, 8] {
            let wait = policy.delay(atLeast: .seconds(5)) ?? .zero
            #expect((.seconds(5) ... .seconds(5 + longest)).contains(wait))
        }
        policy.reset()
        #expect(policy.delay() ?? .seconds(9) <= .seconds(1))
    }
}
