import Foundation
import MeshIdentity
import Testing

@testable import MeshWire

@Suite struct CodingLossTests {
    @Test func `A property that the coding keys leave out is named with its type`() throws {
        let lap = Lap(seconds: 61.5, note: "fast")
        #expect(try loss(of: lap)?.description == "Lap.cached changes when it is encoded and decoded")
        #expect(try loss(of: [Run(laps: ["a": lap])])?.description.hasPrefix("Lap.cached ") == true)
        #expect(try loss(of: Plain(seconds: 61.5)) == nil)
    }

    @Test func `A date that loses its fraction is named`() throws {
        #expect(try loss(of: Start(at: Date(timeIntervalSince1970: 1.75)))?.description.hasPrefix("Start.at ") == true)
        #expect(try loss(of: Start(at: Date(timeIntervalSince1970: 1))) == nil)
    }

    @Test func `Classes are compared by their own and inherited properties`() throws {
        let derived = Derived()
        (derived.name, derived.count) = ("a", 3)
        #expect(try loss(of: derived)?.description.hasPrefix("Derived.count ") == true)
        derived.count = 0
        #expect(try loss(of: derived) == nil)
        let copy = Base()
        copy.name = "b"
        #expect(CodingLoss(from: derived as Base, to: copy)?.field == "")
        let base = Base()
        #expect(CodingLoss(from: base, to: copy)?.description.hasPrefix("Base.name ") == true)
    }

    @Test func `NaN equals NaN, alone and in collections`() {
        #expect(CodingLoss(from: Double.nan, to: .nan) == nil)
        #expect(CodingLoss(from: [1, .nan], to: [1, Double.nan]) == nil)
        #expect(CodingLoss(from: [1, .nan], to: [2, Double.nan])?.type == "Array<Double>")
        #expect(CodingLoss(from: Set([1, Double.nan]), to: [.nan, 1]) == nil)
        #expect(CodingLoss(from: ["a": Float.nan], to: ["a": .nan]) == nil)
        #expect(CodingLoss(from: Plain(seconds: .nan), to: Plain(seconds: .nan)) == nil)
        #expect(CodingLoss(from: Plain(seconds: .nan), to: Plain(seconds: 1))?.field == "seconds")
        #expect(CodingLoss(from: Date(timeIntervalSince1970: .nan), to: Date(timeIntervalSince1970: .nan)) == nil)
        #expect(CodingLoss(from: Double.nan, to: 1) != nil)
    }

    @Test func `Sets and dictionaries are compared in any order`() {
        var left: [String: Plain] = [:]
        var right: [String: Plain] = [:]
        for index in 0..<100 { left["\(index)"] = Plain(seconds: Double(index)) }
        for index in (0..<100).reversed() { right["\(index)"] = Plain(seconds: Double(index)) }
        #expect(CodingLoss(from: Bag(plain: left), to: Bag(plain: right)) == nil)
        right["50"]?.seconds = 51
        #expect(CodingLoss(from: Bag(plain: left), to: Bag(plain: right))?.field == "seconds")
        right["50"] = nil
        #expect(CodingLoss(from: Bag(plain: left), to: Bag(plain: right))?.field == "plain")
        #expect(CodingLoss(from: Set(1...3), to: [1, 2, 4]) != nil)
    }

    @Test func `Enum cases are compared with their associated values`() {
        #expect(CodingLoss(from: Step.go(Plain(seconds: 1)), to: .go(Plain(seconds: 1))) == nil)
        #expect(CodingLoss(from: Step.go(Plain(seconds: 1)), to: .go(Plain(seconds: 2)))?.field == "seconds")
        #expect(CodingLoss(from: Step.go(Plain(seconds: 1)), to: .halt)?.type == "Step")
        #expect(CodingLoss(from: Step.halt, to: .rest)?.type == "Step")
        #expect(CodingLoss(from: Step.halt, to: .halt) == nil)
        #expect(CodingLoss(from: Step?.none, to: .halt)?.type == "Optional<Step>")
    }

    @Test func `A type's own equality decides, and lazy storage doesn't count`() {
        #expect(CodingLoss(from: Loose(id: 1, cache: "a"), to: Loose(id: 1, cache: "b")) == nil)
        #expect(CodingLoss(from: Loose(id: 1, cache: "a"), to: Loose(id: 2, cache: "a"))?.field == "id")
        var used = Idle()
        _ = used.sum
        #expect(CodingLoss(from: used, to: Idle()) == nil)
    }

    @Test func `Only modules of Swift and Foundation are standard`() {
        for type in [Int.self, [Plain].self, Date.self, URL.self] as [Any.Type] {
            #expect(CodingLoss.isStandard(typeName: String(reflecting: type)), "\(type)")
        }
        for name in ["FoundationKit.Lap", "FoundationModel.Lap", "SwiftLog.Line", String(reflecting: Plain.self)] {
            #expect(!CodingLoss.isStandard(typeName: name), "\(name)")
        }
    }

    @Test func `Long and deep values end the search`() {
        let deep = (0..<100).reduce(Node(next: nil)) { node, _ in Node(next: node) }
        let other = (0..<99).reduce(Node(next: nil)) { node, _ in Node(next: node) }
        #expect(CodingLoss(from: deep, to: other) == nil)
        let (circle, twin) = (Node(next: nil), Node(next: nil))
        (circle.next, twin.next) = (circle, twin)
        #expect(CodingLoss(from: circle, to: twin) == nil)
        (circle.next, twin.next) = (nil, nil)
        let long = (0..<100_000).map { Pair(number: $0) }
        #expect(CodingLoss(from: long, to: long.dropLast() + [Pair(number: 0)]) == nil)
    }

    #if DEBUG
        @Test func `A loss is reported once per type and field`() {
            struct Once: Codable { var number: Int }
            func report() -> CodingLoss? {
                CodingLoss.report(from: Once(number: 1), to: Once(number: 2), in: "an event of 'test'")
            }
            #expect(report()?.field == "number")
            #expect(report() == nil)
        }
    #endif

    private func loss<Value: Codable>(of value: Value) throws -> CodingLoss? {
        let codec = CompactCodec()
        return CodingLoss(from: value, to: try codec.decode(Value.self, from: codec.encode(value)))
    }
}

private struct Plain: Codable, Equatable { var seconds: Double }
private struct Pair { var number: Int }
private struct Bag { var plain: [String: Plain] }
private struct Run: Codable { var laps: [String: Lap] }
private struct Lap: Codable, Equatable {
    enum CodingKeys: String, CodingKey { case seconds, note }
    var seconds: Double
    var note: String
    var cached = "fresh"

    init(seconds: Double, note: String) { (self.seconds, self.note, cached) = (seconds, note, "local") }
}

/// Encodes its date as ISO 8601 without fractions, as many models do.
private struct Start: Codable {
    enum CodingKeys: CodingKey { case at }
    var at: Date

    init(at: Date) { self.at = at }
    init(from decoder: any Decoder) throws {
        at = try Date(decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .at), strategy: .iso8601)
    }
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(at.formatted(.iso8601), forKey: .at)
    }
}

private class Base: Codable { var name = "" }

/// Inherits the coding of its base class.
private final class Derived: Base { var count = 0 }

private enum Step: Codable {
    case go(Plain)
    case halt, rest
}

private struct Loose: Equatable {
    var id: Int
    var cache: String
    static func == (left: Loose, right: Loose) -> Bool { left.id == right.id }
}

private struct Idle {
    var numbers = [1, 2]
    lazy var sum = numbers.reduce(0, +)
}

private final class Node {
    var next: Node?
    init(next: Node?) { self.next = next }
}
