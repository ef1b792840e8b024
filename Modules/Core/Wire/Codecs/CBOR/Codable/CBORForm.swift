#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How a type is written and read.
enum CBORForm {
    /// By its own `encode(to:)` and `init(from:)`.
    case codable
    case scalar(any CBORScalar.Type)
    case list(any CBORScalarList.Type)
    case link
}

/// The collections whose order in memory differs between equal values.
protocol CBORUnordered {
    /// Values an element takes in an array: 2 for those of a dictionary that is not a map.
    static var valuesEach: UInt8 { get }
    static var hasIntegerKeys: Bool { get }
}

extension Set: CBORUnordered {
    static var valuesEach: UInt8 { 1 }
    static var hasIntegerKeys: Bool { false }
}

extension Dictionary: CBORUnordered {
    static var valuesEach: UInt8 { 2 }
    static var hasIntegerKeys: Bool { Key.self == Int.self }
}

/// The forms of the types that one call has met, by the types' addresses: 64 places, the newest type wins its place.
struct CBORForms: ~Copyable {
    private struct Place {
        var type: UnsafeRawPointer?
        var form: CBORForm
    }

    private let places: UnsafeMutablePointer<Place>
    private static var capacity: Int { 64 }

    init() {
        places = .allocate(capacity: Self.capacity)
        places.initialize(repeating: Place(type: nil, form: .codable), count: Self.capacity)
    }

    deinit { places.deallocate() }

    @inline(__always)
    subscript<Value>(type: Value.Type) -> CBORForm {
        let address = unsafeBitCast(type as Any.Type, to: UnsafeRawPointer.self)
        let place = places + (Int(bitPattern: address) >> 4 ^ Int(bitPattern: address) >> 10) & (Self.capacity - 1)
        if _fastPath(place.pointee.type == address) { return place.pointee.form }
        let form = Self.find(type)
        place.pointee = Place(type: address, form: form)
        return form
    }

    /// Whether a type is written without containers.
    static func isValue(_ type: Any.Type) -> Bool {
        switch find(type) {
        case .scalar, .list, .link: true
        case .codable: false
        }
    }

    @inline(never)
    private static func find(_ type: Any.Type) -> CBORForm {
        if type == URL.self { return .link }
        if let scalar = type as? any CBORScalar.Type { return .scalar(scalar) }
        if let list = type as? any CBORScalarList.Type { return .list(list) }
        return .codable
    }
}
