public import MeshBus

/// A factory that shows a replay buffer to the conformance rules, such as those of `plugins-tool verify`.
public struct ReplayBufferFixture: Sendable {
    /// Makes a store and two faces of it; called once for each rule.
    public let make: ReplayBufferRules.Make
    /// Why it cannot be examined on this machine; nil where it can.
    public let exemption: String?

    /// A buffer that `make` makes.
    public init(exemption: String? = nil, make: @escaping ReplayBufferRules.Make) {
        self.exemption = exemption
        self.make = make
    }

    /// Runs every rule on a buffer of its own.
    ///
    /// - Returns: each rule with what is wrong; nil where nothing is.
    public func examine() async -> [(rule: ReplayBufferRules.Rule, complaint: String?)] {
        var results: [(rule: ReplayBufferRules.Rule, complaint: String?)] = []
        for rule in ReplayBufferRules.all {
            do { results.append((rule, try await rule.examine(make))) } catch { results.append((rule, "\(error)")) }
        }
        return results
    }
}

extension ExtensionPoint where Value == ReplayBufferFixture {
    /// The extension point at which replay buffers register for the conformance rules.
    public static let replayBuffers = ExtensionPoint("sessionmesh.replay-buffers")
}

extension ReplayBufferFixture {
    static let memory = ReplayBufferFixture { limits in
        let time = Locked(Duration.zero)
        let buffer = MemoryReplayBuffer(limits, seed: .random(in: 0 ... .max), now: { time.withLock { $0 } })
        return ReplayBufferRules.Subject(
            first: buffer, second: buffer, pass: { passed in time.withLock { $0 += passed } }, lose: { buffer.lose() })
    }
}
