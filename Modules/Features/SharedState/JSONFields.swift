import Foundation

/// Canonical JSON of a value, or of each member of an object. Equal values of one encoder have equal bytes.
///
/// Numbers and strings stay as written. Spaces are removed. Members of objects are sorted, and so are lists that `MarkedJSON`
/// has marked as unordered. Complexity: O(bytes), plus sorting.
enum JSONFields {
    /// The field name for a value that isn't an object.
    static let bareName = "\u{0}"
    static let depthMax = 512

    static func split(_ json: Data) throws -> [String: Data] {
        guard case .object(let members) = try JSONValue(json) else { return [bareName: try canonical(json)] }
        return members.mapValues(\.data)
    }

    static func canonical(_ json: Data) throws -> Data { try JSONValue(json).data }

    /// Returns the object with these members; nil if they don't form one JSON value.
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

    /// Indicates whether canonical forms are equal. Ignores Unicode normalization, as Swift does when it compares strings.
    static func isSame(_ left: Data?, _ right: Data?) -> Bool {
        left == right
            || left.map { String(decoding: $0, as: UTF8.self) } == right.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Applies a change to JSON of which the app's type may know only a part.
    /// - Parameters:
    ///   - old: the type's encoding of what it has read from `held`.
    ///   - new: the type's encoding after the change.
    static func patched(_ held: Data, from old: Data, to new: Data) -> Data {
        if isSame(old, new) { return held }
        guard held != old, let held = try? JSONValue(held), let old = try? JSONValue(old),
            let changed = try? JSONValue(new)
        else { return new }
        return held.patched(from: old, to: changed).data
    }
}
