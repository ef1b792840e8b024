import MeshBase
import Testing

@testable import MeshSimulation

@Suite struct MessageForgerTests {
    /// Few of a long list's elements are forged individually. Here most have no parts, and the first ones have many.
    @Test func `A message with a long list is forged, wherever its numbers are`() {
        let rich = "[\((1...8).map { "\(1000 * $0)" }.joined(separator: ","))]"
        let elements = Array(repeating: rich, count: 8) + Array(repeating: "\"text\"", count: 100)
        let message = Array("{\"list\":[\(elements.joined(separator: ","))],\"number\":7000}".utf8)
        let seeds = 0..<200 as Range<UInt64>
        let forgedCount = seeds.count { seed in
            var forger = MessageForger(seed: seed)
            return forger.forged(message) != message
        }
        // Two substitutions may undo each other.
        #expect(forgedCount >= 195)
    }

    @Test func `The last number of a message is forged too`() {
        let message = Array("{\"a\":1000,\"b\":[2000,3000]}".utf8)
        let isForged = (0..<100 as Range<UInt64>).contains { seed in
            var forger = MessageForger(seed: seed)
            guard let forged = forger.forged(message) else { return false }
            let text = String(decoding: forged, as: UTF8.self)
            return text.hasPrefix("{\"a\":1000,\"b\":[2000,") && text != String(decoding: message, as: UTF8.self)
        }
        #expect(isForged)
    }
}
