import Foundation
import MeshBase
import Testing

@testable import MeshFileTransfer

/// The receiving half, with a sender and a network from one seed, in virtual time and without any bytes on disk.
@Suite struct FileFlowTests {
    private static let zeros = Data(count: FileFlow.chunkBytesMax)

    private struct Outcome {
        var handedOut: UInt64 = 0
        var asked: UInt64 = 0
        var elapsed: Duration = .zero
        var outstandingMax = 0
        var smallestChunk = Int.max
        var isInOrder = true
    }

    /// A flow on a lossless lane that has requested everything, and the requested ranges. Its idle sender then offers twice.
    private func doubtfulFlow() -> (flow: FileFlow, asked: [FileRange]) {
        var flow = FileFlow(byteCount: 60_000, held: 0, isLossless: true)
        let asked = flow.nextRequests(now: .zero)
        #expect(asked.count > 4)
        flow.offered(now: .seconds(5))
        #expect(flow.nextRequests(now: .seconds(5)).isEmpty)
        flow.offered(now: .seconds(15))
        return (flow, asked)
    }

    @Test func `Late requests cost at most one chunk on a lossless lane`() {
        var (flow, asked) = doubtfulFlow()
        #expect(flow.nextRequests(now: .seconds(15)) == [asked[0]], "a probe")
        flow.offered(now: .seconds(35))
        #expect(flow.nextRequests(now: .seconds(35)) == [asked[0]], "the same one")
        for range in asked {
            #expect(!flow.take(Self.zeros.prefix(range.count), at: range.offset, now: .seconds(40)).isEmpty)
            #expect(flow.nextRequests(now: .seconds(40)).isEmpty)
        }
        #expect(flow.isComplete)
    }

    @Test func `Chunks missing despite a lossless lane are requested again after the sender's next offer`() {
        var (flow, asked) = doubtfulFlow()
        for range in flow.nextRequests(now: .seconds(15)) {
            _ = flow.take(Self.zeros.prefix(range.count), at: range.offset, now: .seconds(16))
        }
        #expect(flow.nextRequests(now: .seconds(16)).isEmpty)
        #expect(flow.deadline == nil, "nothing is due before the next offer")
        flow.offered(now: .seconds(21))
        #expect(flow.nextRequests(now: .seconds(21)) == Array(asked.dropFirst()))
    }

    /// - Parameter loss: the fraction of lost 1200-byte datagrams. A chunk is lost if any of its datagrams is.
    private func run(
        seed: UInt64, byteCount: UInt64, held: UInt64 = 0, loss: Double = 0, duplication: Double = 0, jitter: Int = 0,
        stepsMax: Int = 2_000_000
    ) -> Outcome {
        var random = SplitMix64(seed: seed)
        var flow = FileFlow(byteCount: byteCount, held: held)
        var outcome = Outcome(handedOut: held)
        var now = Duration.zero
        /// Chunks in flight, by their arrival time in milliseconds.
        var underWay: [Int: [FileRange]] = [:]
        var millisecond = 0
        for _ in 0..<stepsMax {
            if flow.isComplete { break }
            for range in underWay.removeValue(forKey: millisecond) ?? [] {
                for bytes in flow.take(Self.zeros.prefix(range.count), at: range.offset, now: now) {
                    outcome.handedOut += UInt64(bytes.count)
                }
                if flow.next != outcome.handedOut { outcome.isInOrder = false }
            }
            for range in flow.nextRequests(now: now) {
                outcome.asked += UInt64(range.count)
                outcome.smallestChunk = min(outcome.smallestChunk, range.count)
                for _ in 0..<(random.chance(duplication) ? 2 : 1) {
                    let datagrams = (range.count + 1199) / 1200
                    let isLost = (0..<datagrams).contains { _ in random.chance(loss) }
                    guard !isLost else { continue }
                    let arrival = millisecond + 2 + (jitter == 0 ? 0 : Int(random.next() % UInt64(jitter)))
                    underWay[arrival, default: []].append(range)
                }
            }
            outcome.outstandingMax = max(outcome.outstandingMax, flow.outstandingBytes)
            // Jumps directly to the next deadline, as the timer does.
            let due = flow.deadline.map { Int(($0 / .milliseconds(1)).rounded(.up)) } ?? millisecond + 1
            millisecond = max(millisecond + 1, min(due, underWay.keys.min() ?? due))
            now = .milliseconds(millisecond)
        }
        outcome.elapsed = now
        return outcome
    }

    @Test(arguments: [0, 1, 899, 900, 65_536, 1_000_000] as [UInt64])
    func `All bytes are delivered once and in order, whatever the network does`(byteCount: UInt64) {
        for seed in 0..<20 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let outcome = run(
                seed: seed, byteCount: byteCount, held: byteCount == 0 ? 0 : random.next() % byteCount,
                loss: Double(random.next() % 30) / 100, duplication: 0.2, jitter: Int(random.next() % 40))
            #expect(outcome.handedOut == byteCount && outcome.isInOrder, "seed \(seed)")
            #expect(outcome.outstandingMax <= FileFlow.windowBytesMax, "seed \(seed)")
            #expect(outcome.elapsed < .seconds(120), "seed \(seed): \(outcome.elapsed)")
        }
    }

    @Test func `A gibibyte is never in memory, only a window of it`() {
        let outcome = run(seed: 1, byteCount: 1 << 30, jitter: 3)
        #expect(outcome.handedOut == 1 << 30)
        #expect(outcome.outstandingMax <= FileFlow.windowBytesMax)
        // Chunks that arrive out of order are rarely requested again.
        #expect(outcome.asked < (1 << 30) / 100 * 115)
    }

    @Test func `Chunks shrink to datagrams where many get lost`() {
        let outcome = run(seed: 2, byteCount: 2_000_000, loss: 0.2)
        #expect(outcome.handedOut == 2_000_000)
        #expect(outcome.asked < 2_000_000 * 3)
        let calm = run(seed: 2, byteCount: 2_000_000)
        #expect(calm.asked == 2_000_000)
        #expect(calm.elapsed < .seconds(1))
        let capped = FileFlow(byteCount: 5000, held: 0, chunkBytesMax: 300)
        #expect(capped.chunkBytes == 300)
    }

    @Test func `A silent peer is asked less and less often, and at once when it is back`() {
        var flow = FileFlow(byteCount: 1 << 20, held: 0)
        var asks: [Duration] = []
        var now = Duration.zero
        while now < .seconds(3600) {
            if !flow.nextRequests(now: now).isEmpty { asks.append(now) }
            now = max(now + .milliseconds(1), flow.deadline ?? now)
        }
        #expect(asks.count < 80)
        #expect(asks.suffix(10).count == 10)
        #expect(zip(asks.suffix(10), asks.suffix(9)).allSatisfy { $1 - $0 <= FileFlow.patienceMax })
        flow.reconnected()
        #expect(flow.nextRequests(now: now).count > 1)
        flow.disconnected(now: now)
        #expect(flow.nextRequests(now: now).isEmpty)
        #expect(flow.nextRequests(now: now + FileFlow.patienceMax).count == 1 || !flow.isComplete)
    }

    @Test func `Tiny chunks do not fill the memory with their number`() {
        var flow = FileFlow(byteCount: 1 << 20, held: 0, chunkBytesMax: 1)
        var ranges: [FileRange] = []
        var most = 0
        // All chunks but the first arrive, so all of them are early.
        for round in 0..<3000 {
            let now = Duration.microseconds(round)
            ranges += flow.nextRequests(now: now)
            if ranges.count > 1, let range = ranges.popLast() {
                _ = flow.take(Data(count: range.count), at: range.offset, now: now)
            }
            most = max(most, flow.outstandingChunks)
        }
        #expect(most == FileFlow.windowChunksMax)
        // The flow continues.
        for range in ranges { _ = flow.take(Data(count: range.count), at: range.offset, now: .milliseconds(4)) }
        #expect(flow.next >= UInt64(FileFlow.windowChunksMax))
        #expect(!flow.nextRequests(now: .milliseconds(4)).isEmpty)
    }

    @Test func `Chunks that weren't requested are ignored`() {
        var flow = FileFlow(byteCount: 100_000, held: 0)
        #expect(flow.take(Data(count: 10), at: 0, now: .zero).isEmpty)
        let asked = flow.nextRequests(now: .zero)
        #expect(flow.take(Data(count: 10), at: asked[0].offset, now: .zero).isEmpty)
        #expect(flow.take(Data(count: 10), at: .max, now: .zero).isEmpty)
        #expect(flow.next == 0 && flow.earlyBytes == 0)
        #expect(flow.take(Data(count: asked[0].count), at: 0, now: .zero).count == 1)
        #expect(flow.take(Data(count: asked[0].count), at: 0, now: .zero).isEmpty)
    }
}

extension SplitMix64 {
    mutating func chance(_ share: Double) -> Bool { Double(next() >> 11) / Double(1 << 53) < share }
}
