import Foundation
import MeshConnection

/// A property-list value that travels with a file: string, number, boolean, date, data, array or dictionary.
enum MetadataValue: Hashable, Sendable {
    case string(String)
    case bool(Bool)
    case integer(Int64)
    case real(Double)
    case date(Date)
    case data(Data)
    indirect case array([MetadataValue])
    indirect case dictionary([String: MetadataValue])

    /// Maximum nesting of arrays and dictionaries.
    static let depthMax = 16

    /// - Throws: `encodingFailed` if a property list can't hold the value, or nesting exceeds `depthMax`.
    init(_ value: Any, depth: Int = 0) throws(ConnectionError) {
        guard depth <= Self.depthMax else { throw .encodingFailed(description: "metadata is nested too deeply") }
        #if canImport(Darwin)
            // An `NSNumber` casts to `Bool` and to integers, so its actual type is checked first.
            if let number = value as? NSNumber {
                self = try MetadataValue(number)
                return
            }
        #endif
        switch value {
        case let value as String: self = .string(value)
        case let value as Bool: self = .bool(value)
        case let value as any BinaryInteger:
            guard let integer = Int64(exactly: value) else { throw Self.integerOutOfRange }
            self = .integer(integer)
        case let value as Double: self = .real(value)
        case let value as Float: self = .real(Double(value))
        case let value as Date: self = .date(value)
        case let value as Data: self = .data(value)
        case let value as NSNumber: self = .real(value.doubleValue)
        case let value as [String: Any]: self = .dictionary(try Self.dictionary(value, depth: depth))
        case let value as [Any]:
            var values: [MetadataValue] = []
            for element in value { values.append(try MetadataValue(element, depth: depth + 1)) }
            self = .array(values)
        default:
            throw .encodingFailed(
                description: "metadata contains a \(type(of: value)), which a property list can't hold")
        }
    }

    private static var integerOutOfRange: ConnectionError {
        .encodingFailed(description: "metadata contains an integer outside the range of Int64")
    }

    static func dictionary(_ value: [String: Any], depth: Int = 0) throws(ConnectionError) -> [String: MetadataValue] {
        var values: [String: MetadataValue] = [:]
        for (key, element) in value { values[key] = try MetadataValue(element, depth: depth + 1) }
        return values
    }

    var plain: Any {
        switch self {
        case .string(let value): value
        case .bool(let value): value
        case .integer(let value): Int(exactly: value) ?? value
        case .real(let value): value
        case .date(let value): value
        case .data(let value): value
        case .array(let values): values.map(\.plain)
        case .dictionary(let values): values.mapValues(\.plain)
        }
    }

    #if canImport(Darwin)
        private init(_ number: NSNumber) throws(ConnectionError) {
            if CFGetTypeID(number) == CFBooleanGetTypeID() {
                self = .bool(number.boolValue)
            } else if CFNumberIsFloatType(number) {
                self = .real(number.doubleValue)
            } else {
                // `int64Value` wraps around.
                guard let integer = Int64(exactly: number) else { throw Self.integerOutOfRange }
                self = .integer(integer)
            }
        }
    #endif
}

extension MetadataValue: Codable {
    private enum CodingKeys: String, CodingKey {
        case string = "s"
        case bool = "b"
        case integer = "i"
        case real = "r"
        case date = "t"
        case data = "d"
        case array = "a"
        case dictionary = "o"
    }

    /// - Throws: an error if nesting exceeds a bound, so that no peer can exhaust the stack.
    init(from decoder: any Decoder) throws {
        guard decoder.codingPath.count <= 2 * Self.depthMax + 16 else {
            throw ConnectionError.decodingFailed(description: "metadata is nested too deeply")
        }
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard let key = container.allKeys.first else {
            throw ConnectionError.decodingFailed(description: "metadata contains a value of an unknown type")
        }
        self =
            switch key {
            case .string: .string(try container.decode(String.self, forKey: key))
            case .bool: .bool(try container.decode(Bool.self, forKey: key))
            case .integer: .integer(try container.decode(Int64.self, forKey: key))
            case .real: .real(Double(bitPattern: try container.decode(UInt64.self, forKey: key)))
            case .date: .date(Date(timeIntervalSinceReferenceDate: try container.decode(Double.self, forKey: key)))
            case .data: .data(try container.decode(Data.self, forKey: key))
            case .array: .array(try container.decode([MetadataValue].self, forKey: key))
            case .dictionary: .dictionary(try container.decode([String: MetadataValue].self, forKey: key))
            }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .string(let value): try container.encode(value, forKey: .string)
        case .bool(let value): try container.encode(value, forKey: .bool)
        case .integer(let value): try container.encode(value, forKey: .integer)
        // Encodes a bit pattern, because JSON has no infinity.
        case .real(let value): try container.encode(value.bitPattern, forKey: .real)
        case .date(let value): try container.encode(value.timeIntervalSinceReferenceDate, forKey: .date)
        case .data(let value): try container.encode(value, forKey: .data)
        case .array(let values): try container.encode(values, forKey: .array)
        case .dictionary(let values): try container.encode(values, forKey: .dictionary)
        }
    }
}
