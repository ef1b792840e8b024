public import MeshBus

/// A factory that shows a replay buffer to the conformance rules, such as those of `plugins-tool verify`.
public struct ReplayBufferFixture: Sendable {
    /// Makes a store and two faces of it; called once for each rule.
    public let make: ReplayBufferRules.Make
    /// Why it cannot be examined on this machine; nil where it can.
    public let exemption: String?
    /// The rules that it must keep.
    public let rules: [ReplayBufferRules.Rule]

    /// A buffer that `make` makes.
    ///
    /// - Parameter rules: those of all buffers unless told otherwise; for a `MailboxStore` add `MailboxStoreRules.all`.
    public init(
        exemption: String? = nil, rules: [ReplayBufferRules.Rule] = ReplayBufferRules.all,
        make: @escaping ReplayBufferRules.Make
    ) {
        self.exemption = exemption
        self.rules = rules
        self.make = make
    }

    /// Runs every rule on a buffer of its own.
    ///
    /// - Returns: each rule with what is wrong; nil where nothing is.
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
