import Foundation

/// A validated copy of a dictionary with property list values, the content that WatchConnectivity carries.
///
/// Numbers come out as `NSNumber`, as on Apple's systems, so that a number sent as `Int` can be read with `as? Double`
/// and vice versa.
struct PropertyList: Hashable, Sendable {
    private indirect enum Value: Hashable, Sendable {
        case string(String)
        case number(NSNumber)
        case data(Data)
        case date(Date)
        case array([Value])
        case dictionary([String: Value])
    }

    private let root: [String: Value]
    /// An upper bound on the size of the binary form.
    let byteCountMost: Int

    init() {
        root = [:]
        byteCountMost = 42
    }

    /// Returns nil if a value isn't a property list value, or is nested deeper than `depthMax`.
    init?(_ dictionary: [String: Any]) {
        var byteCount = 8 + 32
        guard let root = Self.values(dictionary, 0, &byteCount) else { return nil }
        self.root = root
        byteCountMost = byteCount
    }

    init?(encoded: Data) {
        let list = try? PropertyListSerialization.propertyList(from: encoded, options: [], format: nil)
        guard let dictionary = list as? [String: Any] else { return nil }
        self.init(dictionary)
    }

    static let depthMax = 128

    var dictionary: [String: Any] { root.mapValues(Self.object) }

    /// The binary form; nil only if Foundation fails.
    var encoded: Data? {
        try? PropertyListSerialization.data(fromPropertyList: dictionary, format: .binary, options: 0)
    }

    /// The size of the binary form.
    var byteCount: Int { encoded?.count ?? byteCountMost }

    /// Returns true if the binary form takes at most `limit` bytes. Encodes only if the bound is above the limit.
    func fits(_ limit: Int) -> Bool {
        byteCountMost <= limit || encoded.map { $0.count <= limit } ?? false
    }

    static func == (one: PropertyList, other: PropertyList) -> Bool { one.root == other.root }
    func hash(into hasher: inout Hasher) { hasher.combine(root) }
}

extension PropertyList {
    /// Maximum overhead of an object: marker, long count, table offset and reference.
    private static let objectBytesMost = 1 + 9 + 8 + 8

    private static func values(_ dictionary: [String: Any], _ depth: Int, _ byteCount: inout Int) -> [String: Value]? {
        byteCount += objectBytesMost
        var values: [String: Value] = Dictionary(minimumCapacity: dictionary.count)
        for (key, object) in dictionary {
            guard let value = value(object, depth, &byteCount) else { return nil }
            byteCount += objectBytesMost + 2 * key.utf8.count
            values[key] = value
        }
        return values
    }

    private static func value(_ object: Any, _ depth: Int, _ byteCount: inout Int) -> Value? {
        byteCount += objectBytesMost
        switch object {
        case let string as String:
            byteCount += 2 * string.utf8.count
            return .string(string)
        case let data as Data:
            byteCount += data.count
            return .data(data)
        case let date as Date:
            return .date(date)
        case let number as NSNumber:
            return .number(number)
        case is NSNull:
            return nil
        case let flag as Bool:
            return .number(NSNumber(value: flag))
        case let number as Double:
            return .number(NSNumber(value: number))
        case let number as Float:
            return .number(NSNumber(value: number))
        case let number as any BinaryInteger:
            return Int64(exactly: number).map { .number(NSNumber(value: $0)) }
                ?? UInt64(exactly: number).map { .number(NSNumber(value: $0)) }
        case let array as [Any]:
            guard depth < depthMax else { return nil }
            var values: [Value] = []
            values.reserveCapacity(array.count)
            for element in array {
                guard let value = value(element, depth + 1, &byteCount) else { return nil }
                values.append(value)
            }
            return .array(values)
        case let dictionary as [String: Any]:
            guard depth < depthMax else { return nil }
            return values(dictionary, depth + 1, &byteCount).map(Value.dictionary)
        default:
            return nil
        }
    }

    private static func object(_ value: Value) -> Any {
        switch value {
        case .string(let string): string
        case .number(let number): number
        case .data(let data): data
        case .date(let date): date
        case .array(let values): values.map(object)
        case .dictionary(let values): values.mapValues(object)
        }
    }
}
