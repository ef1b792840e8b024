import MeshDiagnostics
import Testing

@testable import MeshInspector

@Suite("The inspector's log")
struct InspectorLogTests {
    private func log(of count: Int, limit: Int) -> InspectorLog {
        var log = InspectorLog(limit: limit)
        for number in 0..<count { log.add(DiagnosticsEntry(at: Double(number), peer: "phone", kind: .note)) }
        return log
    }

    @Test("entries after a number come oldest first, as many as are asked for, and the newest are kept")
    func entries() {
        for count in 0...25 {
            let log = log(of: count, limit: 8)
            let kept = (1...25).filter { $0 <= count && $0 > count - 8 }.map(UInt64.init)
            for after in 0...26 {
                for max in [1, 3, 100] {
                    let numbers = log.entries(after: UInt64(after), max: max).map(\.number)
                    #expect(
                        numbers == Array(kept.filter { $0 > UInt64(after) }.prefix(max)), "\(count) \(after) \(max)")
                }
            }
            #expect(log.entries(after: .max, max: 3).isEmpty)
        }
    }

    @Test("entries of large states are bounded in bytes, the oldest go first, and the newest stays")
    func bytes() {
        let bytesMax = 10 << 20
        var log = InspectorLog(limit: 100_000, byteCountMax: bytesMax)
        for number in 1...1000 {
            var entry = DiagnosticsEntry(at: Double(number), peer: "phone", kind: .state)
            entry.state = String(repeating: "1", count: 100_000)
            log.add(entry)
            let stateBytes = log.entries.reduce(0) { $0 + ($1.state?.utf8.count ?? 0) }
            #expect(stateBytes <= bytesMax && stateBytes >= min(number * 100_000, bytesMax / 2))
            #expect(log.entries.last?.number == UInt64(number))
        }
        var huge = DiagnosticsEntry(at: 0, peer: "phone", kind: .state)
        huge.state = String(repeating: "1", count: bytesMax + 1)
        log.add(huge)
        #expect(log.entries.map(\.number) == [1001])
        log.add(DiagnosticsEntry(at: 1, peer: "phone", kind: .note))
        #expect(log.entries.map(\.number) == [1002])
    }
}
