import MeshBase

/// Devices that write into each other's mailboxes at two gateway processes with one store, in virtual time. Connections
/// drop on one side or on both, gateways are killed, and the store is down, slow or emptied.
///
/// Each receiver gets the accepted messages of each sender in order, except messages acknowledged by a store that was
/// emptied later. It also gets the newest value of each key and learns which peers are present. The seed determines the
/// run completely.
public struct MailboxSimulation: SeedSimulation {
    /// Faults that the simulation must detect.
    public static let mutationNames = ["writesOn", "forgetsHeld", "keepsEpoch", "opensOvertaken"]

    private let faults: MailboxRun.Faults

    /// - Parameters:
    ///   - hasLiar: Lets one device forge frames.
    ///   - mutation: An element of `mutationNames`.
    public init(losesStore: Bool = true, hasLiar: Bool = false, mutation: String? = nil) {
        faults = MailboxRun.Faults(
            losesStore: losesStore, writesOn: mutation == "writesOn", forgetsHeld: mutation == "forgetsHeld",
            opensOvertaken: mutation == "opensOvertaken", keepsEpoch: mutation == "keepsEpoch", hasLiar: hasLiar)
    }

    /// Counts queued messages that devices received, and connections that they made, over all devices.
    public func run(seed: UInt64, trace: Trace?) -> SeedOutcome {
        var run = MailboxRun(seed: seed, faults)
        var outcome = SeedOutcome(seed: seed, failure: run.run())
        outcome.faults = run.faultCounts
        outcome.counts = ["received": run.receivedCount, "connections": run.keyCount]
        outcome.simulatedSeconds = Double(run.now) / 1e9
        return outcome
    }
}
