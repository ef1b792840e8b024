public import MeshBus

/// A factory of replay buffers for the conformance rules, which `plugins-tool verify` runs.
public struct ReplayBufferFixture: Sendable {
    /// Makes a store and two handles of it. Called once for each rule.
    public let make: ReplayBufferRules.Make
    /// The reason why the store can't be examined on this machine; nil if it can.
    public let exemption: String?
    /// The rules that the store must keep.
    public let rules: [ReplayBufferRules.Rule]

    /// Creates a fixture from a factory.
    ///
    /// - Parameter rules: the rules of all buffers by default; for a `MailboxStore` add `MailboxStoreRules.all`.
    public init(
        exemption: String? = nil, rules: [ReplayBufferRules.Rule] = ReplayBufferRules.all,
        make: @escaping ReplayBufferRules.Make
    ) {
        self.exemption = exemption
        self.rules = rules
        self.make = make
    }

    /// Runs every rule, each on a new buffer.
    ///
    /// - Returns: each rule with its violation; nil if there is none.
    public func examine() async -> [(rule: ReplayBufferRules.Rule, complaint: String?)] {
        var results: [(rule: ReplayBufferRules.Rule, complaint: String?)] = []
        for rule in rules {
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

    static let memoryMailboxes = ReplayBufferFixture(rules: ReplayBufferRules.all + MailboxStoreRules.all) { limits in
        let time = Locked(Duration.zero)
        let store = MemoryMailboxStore(limits, seed: .random(in: 0 ... .max), now: { time.withLock { $0 } })
        return ReplayBufferRules.Subject(
            first: store, second: store, pass: { passed in time.withLock { $0 += passed } }, lose: { store.lose() })
    }
}
