import Foundation
import MeshConnection
import Testing

@testable import MeshFileTransfer

@Suite struct MetadataValueTests {
    @Test func `Property-list values come back unchanged`() throws {
        let date = Date(timeIntervalSinceReferenceDate: 123.5)
        let metadata: [String: Any] = [
            "string": "ä", "true": true, "int": -5, "big": Int64.max, "double": 1.5, "nothing": Double.infinity,
            "date": date, "data": Data([0, 255]), "array": ["a", 1, [true]] as [Any],
            "nested": ["k": ["v": 1]] as [String: Any],
        ]
        let values = try MetadataValue.dictionary(metadata)
        let back = try JSONDecoder().decode([String: MetadataValue].self, from: JSONEncoder().encode(values))
        #expect(back == values)
        let plain = back.mapValues(\.plain)
        #expect(plain["string"] as? String == "ä")
        #expect(plain["true"] as? Bool == true)
        #expect(plain["int"] as? Int == -5)
        #expect(plain["big"] as? Int == Int(Int64.max))
        #expect(plain["double"] as? Double == 1.5)
        #expect(plain["nothing"] as? Double == .infinity)
        #expect(plain["date"] as? Date == date)
        #expect(plain["data"] as? Data == Data([0, 255]))
        #expect((plain["array"] as? [Any])?.count == 3)
        #expect(((plain["nested"] as? [String: Any])?["k"] as? [String: Any])?["v"] as? Int == 1)
    }

    @Test func `A value that a property list can't hold is refused before anything is sent`() {
        struct Other {}
        let values: [[String: Any]] = [["a": Other()], ["a": UInt64.max], ["a": [Other()]]]
        for value in values {
            let result = Result { try MetadataValue.dictionary(value) }
            #expect(throws: ConnectionError.self) { try result.get() }
        }
    }

    @Test func `Unbounded nesting is rejected on both sides`() throws {
        var value: Any = 1
        for _ in 0..<20 { value = [value] }
        let result = Result { try MetadataValue(value) }
        #expect(throws: ConnectionError.self) { try result.get() }
        let deep = String(repeating: #"{"a":["#, count: 200) + #"{"i":1}"# + String(repeating: "]}", count: 200)
        #expect(throws: (any Error).self) { try JSONDecoder().decode(MetadataValue.self, from: Data(deep.utf8)) }
        var deepest: Any = 1
        for _ in 0..<MetadataValue.depthMax { deepest = [deepest] }
        let bytes = try JSONEncoder().encode(MetadataValue(deepest))
        #expect(try JSONDecoder().decode(MetadataValue.self, from: bytes) == MetadataValue(deepest))
    }
}
