import Foundation

/// JSON that can be compared, sorted and changed in part. Compares strings as Swift does.
enum JSONValue: Hashable {
    case object([String: JSONValue])
    case list([JSONValue])
    /// A number, a string in its quotes, `true`, `false` or `null`, as written.
    case scalar(String)

    init(_ json: Data) throws {
        var scanner = JSONScanner(bytes: Array(json))
        self = try scanner.document()
    }

    /// Sorts the elements, or pairs of them, if the list is marked as unordered.
    init(elements: [JSONValue]) {
        guard case .scalar(let mark)? = elements.first, let order = JSONOrder.ofMark(mark) else {
            self = .list(elements)
            return
        }
        let rest = elements.dropFirst()
        let parts = stride(from: rest.startIndex, to: rest.endIndex, by: order.rawValue).map { start in
            rest[start..<min(start + order.rawValue, rest.endIndex)]
        }
        let sorted = parts.map { (text: $0.first?.text ?? "", part: $0) }.sorted { $0.text < $1.text }
        self = .list(sorted.flatMap(\.part))
    }

    var text: String {
        var text = ""
        write(to: &text)
        return text
    }

    var data: Data { Data(text.utf8) }

    private func write(to text: inout String) {
        switch self {
        case .scalar(let scalar): text += scalar
        case .list(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += "," }
                element.write(to: &text)
            }
            text += "]"
        case .object(let members):
            let named = members.map { (literal: Self.literal($0), value: $1) }
                .sorted { $0.literal.utf8.lexicographicallyPrecedes($1.literal.utf8) }
            text += "{"
            for (index, member) in named.enumerated() {
                if index > 0 { text += "," }
                text += member.literal
                text += ":"
                member.value.write(to: &text)
            }
            text += "}"
        }
    }

    /// Returns a name in quotes, as Foundation's encoder writes it.
    static func literal(_ name: String) -> String {
        let isPlain = name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && !#""\/"#.utf8.contains($0) }
        guard !isPlain, let json = try? JSONEncoder().encode(name) else { return "\"\(name)\"" }
        return String(decoding: json, as: UTF8.self)
    }

    static func name(of literal: String) throws -> String {
        guard literal.utf8.contains(UInt8(ascii: "\\")) else {
            return String(Substring(literal.utf8.dropFirst().dropLast()))
        }
        return try JSONDecoder().decode(String.self, from: Data(literal.utf8))
    }
}

// MARK: - Changing a part

extension JSONValue {
    /// Returns this value with a type's changes. Members that the type doesn't know stay.
    /// - Parameters:
    ///   - old: the part of this value that the type knows.
    ///   - new: the same part after the change.
    func patched(from old: JSONValue, to new: JSONValue) -> JSONValue {
        if old == new { return self }
        switch (self, old, new) {
        case (.object(let held), .object(let old), .object(let new)):
            let kept = held.filter { old[$0.key] == nil && new[$0.key] == nil }
            let changed = new.map { name, value in
                guard let held = held[name], let old = old[name] else { return (name, value) }
                return (name, held.patched(from: old, to: value))
            }
            return .object(kept.merging(changed) { $1 })
        case (.list(let held), .list(let old), .list(let new)) where held.count == old.count:
            return .list(Self.patched(held, from: old, to: new))
        default: return new
        }
    }

    /// Keeps the held form of each new element that equals an old one. If as many old elements as new ones are left
    /// over, pairs them in order, and patches each pair whose `id` members are equal or both missing.
    private static func patched(_ held: [JSONValue], from old: [JSONValue], to new: [JSONValue]) -> [JSONValue] {
        var places = Dictionary(grouping: old.indices.reversed()) { old[$0] }
        var patched = new
        var changed: [Int] = []
        for (index, element) in new.enumerated() {
            if let place = places[element]?.popLast() { patched[index] = held[place] } else { changed.append(index) }
        }
        let left = places.values.joined().sorted()
        guard left.count == changed.count else { return patched }
        for (index, place) in zip(changed, left) where new[index].id == old[place].id {
            patched[index] = held[place].patched(from: old[place], to: new[index])
        }
        return patched
    }

    private var id: JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members["id"]
    }
}
