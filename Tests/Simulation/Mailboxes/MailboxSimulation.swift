import MeshBase

/// Devices that write into each other's mailboxes at two gateway processes with one store, in virtual time: connections drop on
/// one side or on both, gateways are killed, the store is down, slow or emptied.
///
/// Of every sender each receiver gets what was accepted, in order and, beside what an emptied store had acknowledged, all of it;
/// and the newest of what is kept by key; and everybody comes to know who is there. Everything follows from the seed.
public struct MailboxSimulation: SeedSimulation {
    /// Faults that it must find.
    public static let mutationNames = ["writesOn", "forgetsHeld", "keepsEpoch", "opensOvertaken"]

    private let faults: MailboxRun.Faults

    /// - Parameters:
    ///   - hasLiar: one of the devices forges frames.
    ///   - mutation: one of `mutationNames`.
    public init(losesStore: Bool = true, hasLiar: Bool = false, mutation: String? = nil) {
        faults = MailboxRun.Faults(
            losesStore: losesStore, writesOn: mutation == "writesOn", forgetsHeld: mutation == "forgetsHeld",
            opensOvertaken: mutation == "opensOvertaken", keepsEpoch: mutation == "keepsEpoch", hasLiar: hasLiar)
    }

    /// Counts queued messages that devices got, and connections that they made, all together.
    public func run(seed: UInt64, trace: Trace?) -> SeedOutcome {
        var run = MailboxRun(seed: seed, faults)
        var outcome = SeedOutcome(seed: seed, failure: run.run())
        outcome.faults = run.faultCounts
        outcome.counts = ["received": run.receivedCount, "connections": run.keyCount]
        outcome.simulatedSeconds = Double(run.now) / 1e9
        return outcome
    }
}
