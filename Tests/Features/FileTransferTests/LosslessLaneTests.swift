import Foundation
import MeshBase
import MeshConnection
import MeshScenarioTransport
import MeshTransport
import Testing

@testable import MeshFileTransfer

/// On a lane that delivers every chunk, a delay isn't a loss: no chunk is read or sent twice.
@MainActor @Suite struct LosslessLaneTests {
    /// The seeds. For more, set FILE_SEEDS=202611261530..<202611261630.
    private nonisolated static let seeds: [UInt64] = {
        let bounds = ProcessInfo.processInfo.environment["FILE_SEEDS"]?.components(separatedBy: "..<").compactMap(
            UInt64.init)
        return bounds?.count == 2 ? Array(bounds![0]..<bounds![1]) : Array(202_611_261_530..<202_611_261_540)
    }()

    private nonisolated static let fileBytes = 8 << 20

    private enum Stop: CaseIterable { case none, reader, writer, towardsReceiver, towardsSender }

    /// - Parameter stop: the part that stops for 40 s, long enough for the peers to consider each other gone.
    private func share(
        seed: UInt64, lanes: [LinkLane: PayloadLimit] = ScenarioLanes.streams, disk: Duration, stop: Stop = .none
    ) async throws -> Double {
        let pair = try TestPair(seed: seed, .ideal, lanes: lanes)
        let disks = SlowDisks(pair.network, perChunk: disk)
        pair.phone.system = disks.sender
        pair.watch.system = disks.receiver
        try pair.phone.launch()
        try pair.watch.launch()
        let url = try pair.makeFile("a", bytes: Self.fileBytes, seed: seed)
        let transfer = try await pair.begin(url)
        disks.beginCounting()
        await pair.settle(steps: 60_000, step: .milliseconds(1)) { transfer.fractionCompleted > 0.3 }
        switch stop {
        case .none: break
        case .reader: disks.stopReader(.seconds(40))
        case .writer: disks.stopWriter(.seconds(40))
        case .towardsReceiver: pair.network.partition(from: pair.phone.peer, to: pair.watch.peer)
        case .towardsSender: pair.network.partition(from: pair.watch.peer, to: pair.phone.peer)
        }
        if stop == .towardsReceiver || stop == .towardsSender {
            await pair.settle(steps: 400, step: .milliseconds(100))
            pair.network.heal()
        }
        await pair.settle(steps: 60_000, step: .milliseconds(1)) { !transfer.isTransferring }
        #expect(transfer.isCompleted, "seed \(seed), \(stop)")
        #expect(try pair.watch.contents["a"] == Data(contentsOf: url), "seed \(seed), \(stop)")
        return Double(disks.readBytes) / Double(Self.fileBytes)
    }

    @Test func `Slow disks on both sides send each byte once on a lossless lane`() async throws {
        #expect(try await share(seed: 1, disk: .milliseconds(5)) <= 1.01)
    }

    @Test func `A side that stops for a while costs no byte on a lossless lane`() async throws {
        for stop in Stop.allCases {
            let share = try await share(seed: 2, disk: .milliseconds(5), stop: stop)
            // A stopped peer counts as present for up to 30 s. The other side sends more meanwhile.
            #expect(share <= 1.02, "\(stop): \(share)")
        }
    }

    @Test(arguments: seeds) func `Any disks and any stops send each byte once`(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        let disk = Duration.microseconds(Int64(random.next() % 60_000))
        let stop = Stop.allCases[Int(random.next() % UInt64(Stop.allCases.count))]
        let share = try await share(seed: seed, disk: disk, stop: stop)
        #expect(share <= 1.02, "seed \(seed): \(disk), \(stop), \(share)")
    }

    @Test func `A range that the peer asks for again before its send fails is wanted once`() {
        let ranges = (0..<3).map { FileRange(offset: UInt64($0) * 10, count: 10) }
        var wanted = WantedRanges()
        for range in ranges { wanted.append(range) }
        wanted.removeFirst(2)
        wanted.append(ranges[0])
        wanted.putBack(Array(ranges.prefix(2)))
        #expect(wanted.ranges == [ranges[1], ranges[2], ranges[0]])
        wanted.removeFirst(3)
        for _ in 0..<2 { wanted.append(ranges[0]) }
        #expect(wanted.ranges == [ranges[0]])
    }

    @Test func `A slow disk isn't taken for loss on datagrams either`() async throws {
        let share = try await share(seed: 3, lanes: ScenarioLanes.datagrams, disk: .milliseconds(5))
        #expect(share <= 1.05, "\(share)")
    }

    @Test func `A new connection loses at most the bytes in flight`() async throws {
        let pair = try TestPair(seed: 4, .ideal, lanes: ScenarioLanes.streams)
        let disks = SlowDisks(pair.network, perChunk: .milliseconds(5))
        pair.phone.system = disks.sender
        pair.watch.system = disks.receiver
        try pair.phone.launch()
        try pair.watch.launch()
        let transfer = try await pair.begin(pair.makeFile("a", bytes: Self.fileBytes))
        disks.beginCounting()
        await pair.settle(steps: 60_000, step: .milliseconds(1)) { transfer.fractionCompleted > 0.3 }
        pair.network.partition([pair.phone.peer], [pair.watch.peer])
        await pair.settle(steps: 100, step: .milliseconds(100))
        pair.network.heal()
        await pair.settle(steps: 60_000, step: .milliseconds(1)) { !transfer.isTransferring }
        #expect(transfer.isCompleted)
        #expect(disks.readBytes <= Self.fileBytes + 2 * FileFlow.windowBytesMax, "\(disks.readBytes)")
    }
}

/// Slow disks of two devices. They use virtual time, and can stop.
final class SlowDisks: Sendable {
    private struct State {
        var isCounting = false
        var readBytes = 0
        var readerStop: Duration = .zero
        var writerStop: Duration = .zero
    }

    private let network: ScenarioNetwork
    private let perChunk: Duration
    private let state = Locked(State())

    init(_ network: ScenarioNetwork, perChunk: Duration) {
        self.network = network
        self.perChunk = perChunk
    }

    /// The number of bytes that the sender has read since `beginCounting`.
    var readBytes: Int { state.withLock { $0.readBytes } }
    func beginCounting() { state.withLock { $0.isCounting = true } }
    /// Makes the next read wait for `time`.
    func stopReader(_ time: Duration) { state.withLock { $0.readerStop = time } }
    func stopWriter(_ time: Duration) { state.withLock { $0.writerStop = time } }

    var sender: SystemFiles {
        var system = SystemFiles()
        system.read = { [self] descriptor, buffer, offset in
            let wait = state.withLock { state -> Duration? in
                guard state.isCounting else { return nil }
                state.readBytes += buffer.count
                defer { state.readerStop = .zero }
                return perChunk + state.readerStop
            }
            if let wait { network.advance(by: wait) }
            return SystemFiles().read(descriptor, buffer, offset)
        }
        return system
    }

    var receiver: SystemFiles {
        var system = SystemFiles()
        system.write = { [self] descriptor, bytes in
            let wait = state.withLock { state in
                defer { state.writerStop = .zero }
                return perChunk + state.writerStop
            }
            network.advance(by: wait)
            return SystemFiles().write(descriptor, bytes)
        }
        return system
    }
}
