import Foundation

/// JSON in a canonical form, whole or by the members of its object: the same for equal values of one encoder.
///
/// Numbers and strings stay as they were written. Spaces go, members of objects are put in order, and so are elements
/// that `MarkedJSON` has marked as being in none. O(bytes), and what sorting takes.
enum JSONFields {
    /// The name under which a value is kept that is no object.
    static let bareName = "\u{0}"
    static let depthMax = 512

    static func split(_ json: Data) throws -> [String: Data] {
        guard case .object(let members) = try JSONValue(json) else { return [bareName: try canonical(json)] }
        return members.mapValues(\.data)
    }

    static func canonical(_ json: Data) throws -> Data { try JSONValue(json).data }

    /// The object of these members. nil when what is there together is no JSON value.
    static func join(_ fields: [String: Data]) -> Data? {
        if let bare = fields[bareName] { return fields.count == 1 ? bare : nil }
        var json = Data("{".utf8)
        for (index, field) in fields.sorted(by: { $0.key < $1.key }).enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            json.append(contentsOf: JSONValue.literal(field.key).utf8)
            json.append(UInt8(ascii: ":"))
            json.append(field.value)
        }
        json.append(UInt8(ascii: "}"))
        return json
    }

    /// Whether two canonical forms differ by Unicode's normal forms at most, as strings that Swift calls equal may.
    static func isSame(_ left: Data?, _ right: Data?) -> Bool {
        left == right
            || left.map { String(decoding: $0, as: UTF8.self) } == right.map { String(decoding: $0, as: UTF8.self) }
    }

    /// A form that is held, with the changes that a type made which may know only a part of it.
    /// - Parameters:
    ///   - old: what the type writes that has read `held`, and has changed nothing.
    ///   - new: what it writes now.
    static func patched(_ held: Data, from old: Data, to new: Data) -> Data {
        if isSame(old, new) { return held }
        guard held != old, let held = try? JSONValue(held), let old = try? JSONValue(old),
            let changed = try? JSONValue(new)
        else { return new }
        return held.patched(from: old, to: changed).data
    }
}
