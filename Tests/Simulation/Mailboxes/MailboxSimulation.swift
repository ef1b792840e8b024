import MeshBase

/// Devices that write into each other's mailboxes at two gateway processes with one store, in virtual time: connections drop on
/// one side or on both, gateways are killed, the store is down, slow or emptied.
///
/// Of every sender each receiver gets what was accepted, in order and, beside what an emptied store had acknowledged, all of it;
/// and the newest of what is kept by key; and everybody comes to know who is there. Everything follows from the seed.
public struct MailboxSimulation: Sendable {
    /// Faults that it must find.
    public static let mutationNames = ["writesOn", "forgetsHeld", "keepsEpoch", "opensOvertaken"]

    private let faults: MailboxRun.Faults

    /// - Parameter mutation: one of `mutationNames`.
    public init(losesStore: Bool = true, mutation: String? = nil) {
        faults = MailboxRun.Faults(
            losesStore: losesStore, writesOn: mutation == "writesOn", forgetsHeld: mutation == "forgetsHeld",
            opensOvertaken: mutation == "opensOvertaken", keepsEpoch: mutation == "keepsEpoch")
    }

    /// - Parameter progress: is told after each seed.
    public func run(
        _ seeds: Range<UInt64>, stopsAtFailure: Bool = false, progress: (MailboxReport) -> Void = { _ in }
    ) -> MailboxReport {
        MailboxReport().adding(seeds, stopsAtFailure: stopsAtFailure, progress: progress) { report, seed in
            let start = ContinuousClock.now
            var run = MailboxRun(seed: seed, faults)
            if let complaint = run.run() { report.failures.append(SeedFailure(seed: seed, reason: complaint)) }
            report.seeds += 1
            report.received += run.receivedCount
            report.connections += run.keyCount
            report.faults.merge(run.faultCounts, uniquingKeysWith: +)
            report.simulatedSeconds += Double(run.now) / 1e9
            report.wallSeconds += start.duration(to: .now) / .seconds(1)
        }
    }
}

/// What became of many seeds of a `MailboxSimulation`.
public struct MailboxReport: SeedReport {
    public internal(set) var seeds = 0
    public internal(set) var failures: [SeedFailure] = []
    /// Queued messages that devices got, and connections that they made, all together.
    public internal(set) var received = 0
    public internal(set) var connections = 0
    public internal(set) var faults: [String: Int] = [:]
    public internal(set) var simulatedSeconds = 0.0
    public internal(set) var wallSeconds = 0.0
}
