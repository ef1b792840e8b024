import Foundation
import MeshSimulatedWatch
import Testing

@Suite struct PayloadTests {
    private func received(_ message: [String: Any]) throws -> [String: Any] {
        let running = try Running()
        try running.phone.session.updateApplicationContext(message)
        running.pair.runUntilIdle()
        return running.watch.session.receivedApplicationContext
    }

    @Test("Property list values arrive unchanged")
    func values() throws {
        let date = Date(timeIntervalSince1970: 1_000.25)
        let content = try received([
            "int": 1, "negative": -5, "small": UInt8(3), "big": UInt64.max, "bool": true, "double": 1.5,
            "float": Float(0.25), "string": "ä", "data": Data([1, 2]), "date": date, "number": NSNumber(value: 7),
            "array": [1, 2, 3], "words": ["a", "b"], "nested": ["x": ["y": [["z": 1]]]], "empty": [String: Any](),
        ])
        #expect(content["int"] as? Int == 1 && content["int"] as? Double == 1 && content["negative"] as? Int == -5)
        #expect(content["small"] as? Int == 3 && content["big"] as? UInt64 == .max)
        #expect(content["bool"] as? Bool == true && content["double"] as? Double == 1.5)
        #expect(content["float"] as? Double == 0.25 && content["number"] as? Int == 7)
        #expect(content["string"] as? String == "ä" && content["data"] as? Data == Data([1, 2]))
        #expect(content["date"] as? Date == date)
        #expect(content["array"] as? [Int] == [1, 2, 3] && content["words"] as? [String] == ["a", "b"])
        let nested = content["nested"] as? [String: Any]
        let inner = (nested?["x"] as? [String: Any])?["y"] as? [[String: Any]]
        #expect(inner?.first?["z"] as? Int == 1)
        #expect((content["empty"] as? [String: Any])?.isEmpty == true)
    }

    @Test("Values that a property list can't hold are refused, at any depth")
    func unsupported() throws {
        let running = try Running()
        let url = try #require(URL(string: "https://example.com"))
        var deep: Any = 1
        for _ in 0..<200 { deep = [deep] }
        let bad: [Any] = [NSNull(), url, NotLaunched(), UUID(), Optional<Int>.none as Any, Set([1]), [1: 2], deep]
        for (index, value) in bad.enumerated() {
            for message in [["x": value], ["x": [value]], ["x": ["y": value]]] {
                #expect(throws: WCError(.payloadUnsupportedTypes), "\(index)") {
                    try running.phone.session.updateApplicationContext(message)
                }
            }
        }
    }
}
