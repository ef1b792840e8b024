import Foundation
import MeshBase
import MeshTestSupport
import Testing

@testable import MeshDiscovery

@Suite struct DiscoveryThreadTests {
    @Test("A flood delays neither calls, nor timers, nor the end") func flood() async throws {
        let log = Locked(FloodedLoop.Log())
        let thread = DiscoveryThread()
        thread.announce(Self.announcement("early"))
        try thread.start { FloodedLoop(log) }
        try await eventually("what was asked before the start") { log.withLock { $0.announced } == ["early"] }
        try await eventually("a flood") { log.withLock { $0.reads } > 100 }
        thread.announce(Self.announcement("late"))
        try await eventually("what is asked now") { log.withLock { $0.announced } == ["early", "late"] }
        let turns = log.withLock { $0.turns }
        try await eventually("what is due") { log.withLock { $0.turns } > turns + 100 }
        await thread.stop()
        let end = log.withLock { $0 }
        #expect(end.ends == 1)
        #expect(end.reads <= end.turns)
    }

    @Test("A discovery that has stopped leaves nothing behind, and none starts after it") func end() async throws {
        let log = Locked(FloodedLoop.Log())
        let thread = DiscoveryThread()
        try thread.start { FloodedLoop(log) }
        await withTaskGroup { group in for _ in 0..<8 { group.addTask { await thread.stop() } } }
        #expect(log.withLock { $0.isGone })
        let turns = log.withLock { $0.turns }
        thread.announce(nil)
        await thread.stop()
        #expect(log.withLock { $0.turns } == turns)
        #expect { try thread.start { FloodedLoop(log) } } throws: { ($0 as? DiscoveryError)?.code == .alreadyStarted }
    }

    @Test("A loop that gives up ends its thread") func givingUp() async throws {
        let log = Locked(FloodedLoop.Log())
        log.withLock { $0.turnsMax = 3 }
        let thread = DiscoveryThread()
        try thread.start { FloodedLoop(log) }
        try await eventually("the end") { log.withLock { $0.isGone } }
        #expect(log.withLock { ($0.turns, $0.ends) } == (3, 1))
        await thread.stop()
    }

    private static func announcement(_ name: String) -> ServiceAnnouncement {
        ServiceAnnouncement(instance: name, port: 1)
    }
}

/// A loop that always has more to read.
private final class FloodedLoop: DiscoveryLoop {
    struct Log {
        var turnsMax = Int.max
        var turns = 0
        var reads = 0
        var announced: [String] = []
        var ends = 0
        var isGone = false
    }

    private let log: Locked<Log>
    private let pipe = Pipe()

    init(_ log: Locked<Log>) {
        self.log = log
        pipe.fileHandleForWriting.write(Data([1]))
    }

    deinit { log.withLock { $0.isGone = true } }

    func announce(_ announcement: ServiceAnnouncement?) {
        log.withLock { $0.announced.append(announcement?.instance ?? "") }
    }

    func advance() -> Bool {
        log.withLock { log in
            log.turns += 1
            return log.turns < log.turnsMax
        }
    }

    var sources: [DiscoverySource] {
        [
            DiscoverySource(descriptor: pipe.fileHandleForReading.fileDescriptor) { [log] in
                log.withLock { $0.reads += 1 }
            }
        ]
    }

    var nextDue: SuspendingClock.Instant? { nil }

    func end() { log.withLock { $0.ends += 1 } }
}
