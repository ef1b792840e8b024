// Over 500 lines on purpose: one list of every shape that Codable can take, in one place.

import Foundation

// The types of the zoo. Each uses Codable as some app does.

struct Leaf: Codable, Hashable, Sendable {
    var number = 1
    var text = "leaf"
    var date = Date(timeIntervalSinceReferenceDate: 0.5)
}

struct Empty: Codable, Hashable, Sendable {}

struct Nested<Value: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
    var value: Value
}

struct Wrapper<Value: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
    var value: Value

    init(value: Value) { self.value = value }
    init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Value.self) }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

struct Optionals: Codable, Hashable, Sendable {
    var a: Int?
    var b: String?
    var c: Date?
    var d: Leaf?
    var e: [Int]?
    var f: Int??
    var g: Bool?
    var h = 8

    static let full = Optionals(
        a: 1, b: "b", c: Date(timeIntervalSinceReferenceDate: 1), d: Leaf(), e: [1], f: .some(.some(1)), g: false)
}

struct Widths: Codable, Hashable, Sendable {
    var a: Int8 = -8
    var b: Int16 = -16
    var c: Int32 = -32
    var d: Int64 = -64
    var e: UInt8 = 8
    var f: UInt16 = 16
    var g: UInt32 = 32
    var h: UInt64 = .max
    var i: UInt = 1
    var j: Float = 0.1
    var k: Double = 0.1
    var l = true
    var m = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
    var n = Data([1, 2, 3])
    var o = Decimal(2.5)
    var p = [1.5]
    var q: Int? = 17
    var r = "r"
    var s = "r"
}

indirect enum List: Codable, Hashable, Sendable {
    case end
    case node(Int, List)

    static let sample = List.node(1, .node(2, .node(3, .end)))
}

final class Tree: Codable, Equatable, Sendable {
    let value: Int
    let children: [Tree]

    init(_ value: Int, _ children: [Tree] = []) {
        self.value = value
        self.children = children
    }

    static let sample = Tree(1, [Tree(2, [Tree(3)]), Tree(4)])
    static func == (left: Tree, right: Tree) -> Bool { left.value == right.value && left.children == right.children }
}

class Animal: Codable, Equatable, @unchecked Sendable {
    let legs: Int

    init(legs: Int) { self.legs = legs }
    static func == (left: Animal, right: Animal) -> Bool { left.legs == right.legs }
}

final class Dog: Animal, @unchecked Sendable {
    let name: String

    private enum Keys: CodingKey { case name }

    init(legs: Int, name: String) {
        self.name = name
        super.init(legs: legs)
    }

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        name = try container.decode(String.self, forKey: .name)
        try super.init(from: container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(name, forKey: .name)
        try super.encode(to: container.superEncoder())
    }

    static func == (left: Dog, right: Dog) -> Bool { left.legs == right.legs && left.name == right.name }
}

struct Meters: RawRepresentable, Codable, Hashable, Sendable { var rawValue: Double }

enum Color: String, Codable, Hashable, Sendable { case red, green }

enum NamedKey: String, Codable, Hashable, Sendable, CodingKeyRepresentable { case first, second }

enum Single: Codable, Hashable, Sendable { case only }

indirect enum Shape: Codable, Hashable, Sendable {
    case empty
    case circle(radius: Double)
    case rectangle(width: Double, height: Double)
    case pair(Int, String)
    case nested(Shape)
}

enum Result2<Value: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
    case success([String: Value])
    case failure(String)
}

extension Result2 where Value == Int {
    static var sample: Self { .success(["a": 1]) }
}

// MARK: - Hand-written conformances

/// Writes two nested containers in turn.
struct Interleaved: Codable, Hashable, Sendable {
    var first: [Int]
    var second: [Int]

    enum Keys: CodingKey { case first, second, after }

    init(first: [Int], second: [Int]) {
        self.first = first
        self.second = second
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        var one = container.nestedUnkeyedContainer(forKey: .first)
        var two = container.nestedUnkeyedContainer(forKey: .second)
        try container.encode("between", forKey: .after)
        for index in 0..<max(first.count, second.count) {
            if index < first.count { try one.encode(first[index]) }
            if index < second.count { try two.encode(second[index]) }
        }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        var one = try container.nestedUnkeyedContainer(forKey: .first)
        var two = try container.nestedUnkeyedContainer(forKey: .second)
        (first, second) = ([], [])
        while !one.isAtEnd || !two.isAtEnd {
            if !two.isAtEnd { second.append(try two.decode(Int.self)) }
            if !one.isAtEnd { first.append(try one.decode(Int.self)) }
        }
        _ = try container.decode(String.self, forKey: .after)
    }
}

/// Opens a super encoder early and uses it last.
struct LateNested: Codable, Hashable, Sendable {
    var a: Int
    var b: String
    var c: Int

    enum Keys: CodingKey { case a, b, c, inner }

    init(a: Int, b: String, c: Int) {
        self.a = a
        self.b = b
        self.c = c
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        let late = container.superEncoder(forKey: .inner)
        try container.encode(a, forKey: .a)
        try container.encode(b, forKey: .b)
        var inner = late.container(keyedBy: Keys.self)
        try inner.encode(c, forKey: .c)
        try inner.encode(b, forKey: .b)
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        let inner = try container.superDecoder(forKey: .inner).container(keyedBy: Keys.self)
        b = try container.decode(String.self, forKey: .b)
        c = try inner.decode(Int.self, forKey: .c)
        a = try container.decode(Int.self, forKey: .a)
    }
}

/// Requests two keyed containers from its encoder. They form one record.
struct TwoContainers: Codable, Hashable, Sendable {
    var a: Int
    var b: Int

    enum FirstKeys: CodingKey { case a }
    enum SecondKeys: CodingKey { case b }

    init(a: Int, b: Int) {
        self.a = a
        self.b = b
    }

    func encode(to encoder: any Encoder) throws {
        var first = encoder.container(keyedBy: FirstKeys.self)
        try first.encode(a, forKey: .a)
        var second = encoder.container(keyedBy: SecondKeys.self)
        try second.encode(b, forKey: .b)
    }

    init(from decoder: any Decoder) throws {
        b = try decoder.container(keyedBy: SecondKeys.self).decode(Int.self, forKey: .b)
        a = try decoder.container(keyedBy: FirstKeys.self).decode(Int.self, forKey: .a)
    }
}

/// Reads its fields in an order other than the one it writes.
struct Reversed: Codable, Hashable, Sendable {
    var a: Int
    var b: String
    var c: Leaf

    enum Keys: CodingKey { case a, b, c, missing }

    init(a: Int, b: String, c: Leaf) {
        self.a = a
        self.b = b
        self.c = c
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(c, forKey: .c)
        try container.encode(b, forKey: .b)
        try container.encode(a, forKey: .a)
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        a = try container.decode(Int.self, forKey: .a)
        _ = try container.decodeIfPresent(Int.self, forKey: .missing)
        b = try container.decode(String.self, forKey: .b)
        c = try container.decode(Leaf.self, forKey: .c)
        _ = try container.decode(String.self, forKey: .b)
    }
}

struct NumberList: Codable, Hashable, Sendable {
    var values: [Int]

    init(values: [Int]) { self.values = values }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for value in values { try container.encode(value) }
        try container.encodeNil()
        try container.encode("end")
    }

    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        values = []
        while try !container.decodeNil() { values.append(try container.decode(Int.self)) }
        guard try container.decode(String.self) == "end", container.isAtEnd else { throw CancellationError() }
    }
}

/// Writes an array in one call and reads it element by element.
struct BlockByElement: Codable, Hashable, Sendable {
    var values: [Double]

    init(values: [Double]) { self.values = values }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(values)
    }

    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        values = []
        while !container.isAtEnd { values.append(try container.decode(Double.self)) }
    }
}

/// Writes an array element by element and reads it in one call.
struct BlockByArray: Codable, Hashable, Sendable {
    var values: [Int16]

    init(values: [Int16]) { self.values = values }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for value in values { try container.encode(value) }
    }

    init(from decoder: any Decoder) throws { values = try decoder.singleValueContainer().decode([Int16].self) }
}

/// Uses structs as coding keys, known at run time only.
struct StructKeys: Codable, Hashable, Sendable {
    var values: [String: Int]

    struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(values: [String: Int]) { self.values = values }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        for (name, value) in values { try container.encode(value, forKey: Key(stringValue: name)) }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        values = [:]
        for key in container.allKeys { values[key.stringValue] = try container.decode(Int.self, forKey: key) }
    }
}

struct IntKeys: Codable, Hashable, Sendable {
    var a: Int
    var b: String

    enum CodingKeys: Int, CodingKey {
        case a = 7
        case b = -3
    }
}

struct SuperKeyed: Codable, Hashable, Sendable {
    var own: Int
    var inherited: Leaf

    init(own: Int, inherited: Leaf) {
        self.own = own
        self.inherited = inherited
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        try inherited.encode(to: container.superEncoder())
        var nested = container.nestedContainer(keyedBy: StructKeys.Key.self)
        try nested.encode(own, forKey: StructKeys.Key(stringValue: "own"))
        var list = container.nestedUnkeyedContainer()
        try list.encode(own)
    }

    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        inherited = try Leaf(from: container.superDecoder())
        own = try container.nestedContainer(keyedBy: StructKeys.Key.self).decode(
            Int.self, forKey: StructKeys.Key(stringValue: "own"))
        var list = try container.nestedUnkeyedContainer()
        guard try list.decode(Int.self) == own else { throw CancellationError() }
    }
}

/// A list of elements of different types.
struct Mixed: Codable, Hashable, Sendable {
    var number: Int
    var text: String

    init(number: Int, text: String) {
        self.number = number
        self.text = text
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        try container.encode(number)
        try container.encode(text)
        try container.encode([1.5])
        try container.encode(Leaf())
    }

    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        number = try container.decode(Int.self)
        text = try container.decode(String.self)
        guard container.currentIndex == 2, container.count == 4 else { throw CancellationError() }
        // The other elements are left unread.
    }
}

struct ExplicitNil: Codable, Hashable, Sendable {
    var value: Int?

    enum Keys: CodingKey { case value, after }

    init(value: Int?) { self.value = value }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        if let value {
            try container.encode(value, forKey: .value)
        } else {
            try container.encodeNil(forKey: .value)
        }
        try container.encode(1, forKey: .after)
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        guard container.contains(.value), try container.decode(Int.self, forKey: .after) == 1 else {
            throw CancellationError()
        }
        value = try container.decodeNil(forKey: .value) ? nil : container.decode(Int.self, forKey: .value)
    }
}

/// A value that exists but encodes as nil.
struct BoxedNil: Codable, Hashable, Sendable {
    var value: Int?

    init(value: Int?) { self.value = value }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        value = container.decodeNil() ? nil : try container.decode(Int.self)
    }
}

/// Reads less than it wrote, inside a list and a record.
struct PartialReader: Codable, Hashable, Sendable {
    var a: Int
    var b: Int

    struct Sloppy: Codable {
        var read = 1
        var unread = [1, 2, 3]
        var more: Leaf? = Leaf()

        init() {}

        init(from decoder: any Decoder) throws {
            read = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .read)
        }
    }

    enum Keys: CodingKey { case a, sloppy, list, b }

    init(a: Int, b: Int) {
        self.a = a
        self.b = b
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(a, forKey: .a)
        try container.encode(Sloppy(), forKey: .sloppy)
        try container.encode([Sloppy(), Sloppy()], forKey: .list)
        try container.encode(b, forKey: .b)
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        a = try container.decode(Int.self, forKey: .a)
        _ = try container.decode(Sloppy.self, forKey: .sloppy)
        _ = try container.decode([Sloppy].self, forKey: .list)
        b = try container.decode(Int.self, forKey: .b)
    }
}

/// More coding keys than one byte can number.
struct ManyCases: Codable, Hashable, Sendable {
    var values: [Int: Int]

    static let sample = ManyCases(values: Dictionary(uniqueKeysWithValues: (0..<300).map { ($0, $0 * 7) }))

    struct Key: CodingKey {
        var stringValue: String { "key\(number)" }
        var intValue: Int? { nil }
        var number: UInt16

        init(_ number: Int) { self.number = UInt16(number) }
        init?(stringValue: String) {
            guard stringValue.hasPrefix("key"), let number = UInt16(stringValue.dropFirst(3)) else { return nil }
            self.number = number
        }
        init?(intValue: Int) { nil }
    }

    init(values: [Int: Int]) { self.values = values }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        for (number, value) in values { try container.encode(value, forKey: Key(number)) }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        values = [:]
        for key in container.allKeys { values[Int(key.number)] = try container.decode(Int.self, forKey: key) }
    }
}
