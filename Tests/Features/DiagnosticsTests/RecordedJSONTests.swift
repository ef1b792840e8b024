import Foundation
import Testing

@testable import MeshDiagnostics

@Suite("Values as text for people")
struct RecordedJSONTests {
    private struct HeartRate: Codable, Hashable, RawRepresentable, CodingKeyRepresentable {
        var rawValue: Int
        init(rawValue: Int) { self.rawValue = rawValue }
        var codingKey: any CodingKey { rawValue.codingKey }
        init?(codingKey: some CodingKey) { rawValue = codingKey.intValue ?? 0 }
    }

    private enum Event: Codable {
        case start(at: Date)
        case beat(HeartRate, note: String)
        case end
    }

    private struct Whole: Codable {
        var z = "\"quoted\"\n\u{1}\\"
        var a: [Int?] = [1, nil]
        var numbers = [1.5, .infinity, -.infinity, .nan]
        var isOn = true
        var missing: Int?
        var data = Data([0, 1, 2])
        var url = URL(string: "https://example.com/a/b")
        var byName = ["b": 2, "a": 1]
        var set: Set = [3, 1, 2]
        var pairs = [HeartRate(rawValue: 7): "seven"]
    }

    private struct Readings: Codable {
        var first: HeartRate? = HeartRate(rawValue: 187_001)
        var all = [HeartRate(rawValue: 187_002)]
        var byName = ["x": HeartRate(rawValue: 187_003)]
        var named = [HeartRate(rawValue: 187_004): 1]
        var set: Set = [HeartRate(rawValue: 187_005)]
        var nested: [[HeartRate?]] = [[HeartRate(rawValue: 187_006)]]
        var steps = 12
    }

    private final class Chain: Encodable {
        var next: Chain?
        init(_ next: Chain?) { self.next = next }
    }

    @Test("fields keep their order, equal sets and dictionaries are equal texts, and JSON reads it")
    func forms() throws {
        let text = try #require(RecordedJSON.text(of: Whole()))
        #expect(
            text == #"{"z":"\"quoted\"\u000a\u0001\\","a":[1,null],"numbers":[1.5,"Infinity","-Infinity","NaN"],"#
                + #""isOn":true,"data":"AAEC","url":"https://example.com/a/b","byName":{"a":1,"b":2},"set":[1,2,3],"#
                + #""pairs":{"7":"seven"}}"#)
        let read = try JSONDecoder().decode(
            Whole.self, from: Data(text.replacing(#""Infinity","-Infinity","NaN""#, with: "2").utf8))
        #expect(read.z == Whole().z && read.set == Whole().set && read.data == Whole().data)
    }

    @Test("events have their case's name, and dates are ISO 8601")
    func events() {
        let moment = Date(timeIntervalSince1970: 1_767_225_600.125)
        #expect(RecordedJSON.text(of: Event.start(at: moment)) == #"{"start":{"at":"2026-01-01T00:00:00.125Z"}}"#)
        #expect(RecordedJSON.text(of: Event.end) == #"{"end":{}}"#)
        #expect(RecordedJSON.text(of: 7) == "7")
        #expect(RecordedJSON.text(of: "x") == "\"x\"")
        for seconds in [1e300, -1e300, .infinity, .nan, 253_402_300_799, -62_135_596_801] {
            let text = RecordedJSON.text(of: [Date(timeIntervalSince1970: seconds)])
            #expect(text?.contains("T") == false, "\(seconds): \(text ?? "nil")")
        }
    }

    @Test("a value of a redacted type is in no text, wherever it stands")
    func redaction() throws {
        let shown = try #require(RecordedJSON.text(of: Readings()))
        for number in 187_001...187_006 { #expect(shown.contains("\(number)")) }
        let hidden = try #require(RecordedJSON.text(of: Readings(), redacting: .init([HeartRate.self])))
        #expect(!hidden.contains("187"))
        #expect(
            hidden == #"{"first":"(redacted)","all":["(redacted)"],"byName":{"x":"(redacted)"},"named":"(redacted)","#
                + #""set":"(redacted)","nested":[["(redacted)"]],"steps":12}"#)
        #expect(
            RecordedJSON.text(of: Event.beat(HeartRate(rawValue: 187), note: "n"), redacting: .init([HeartRate.self]))
                == #"{"beat":{"_0":"(redacted)","note":"n"}}"#)
        #expect(RecordedJSON.text(of: Event.end, redacting: .init([Event.self])) == "\"(redacted)\"")
        #expect(RecordedJSON.text(of: ["187" as String?], redacting: .init([String.self])) == "[\"(redacted)\"]")
    }

    @Test("a text has a maximum, says where it was cut, and stays JSON")
    func bounds() throws {
        struct Large: Encodable {
            var name = "large"
            var text = String(repeating: "é", count: 5_000)
            var numbers = Array(0..<100_000)
            var more = ["a": 1]
            var other = 7
        }
        for bytesMax in [0, 1, 20, 33, 1_000, 12_000, 20_000] {
            let text = try #require(RecordedJSON.text(of: Large(), bytesMax: bytesMax))
            #expect(text.utf8.count < bytesMax + 200, "\(bytesMax): \(text.utf8.count)")
            #expect(text.contains("…"))
            #expect(throws: Never.self) {
                try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
            }
        }
        let deep = (0..<10_000).reduce(Chain(nil)) { chain, _ in Chain(chain) }
        #expect(try #require(RecordedJSON.text(of: deep)).contains("…"))
        // One at a time, because freeing the chain at once would overflow the stack.
        var chain: Chain? = deep
        while let next = chain?.next {
            chain?.next = nil
            chain = next
        }
    }

    @Test("a value that can't be encoded has no text")
    func unencodable() {
        struct Failing: Encodable {
            func encode(to encoder: any Encoder) throws { throw CancellationError() }
        }
        #expect(RecordedJSON.text(of: [Failing()]) == nil)
    }
}
