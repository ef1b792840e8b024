import Foundation
import MeshRegister
import MeshWire

/// Converts between values of the app and entries of a register.
struct StateCoder<State: Codable & Sendable & Equatable> {
    let merge: SharedStateMerge<State>
    let encoder: JSONEncoder
    let decoder: JSONDecoder
    /// True for the library's decoder. Earlier versions of it rejected NaN and infinity.
    private let isDefault: Bool
    /// The initial value's fields. They stand for fields that were never set, or that an older version of the app doesn't have.
    private(set) var initialFields: [String: Data]
    /// A hash of the initial value's field names: equal for one type in two apps, even under two IDs.
    private(set) var shape: UInt32 = 0

    init(
        initialValue: State, merge: SharedStateMerge<State>, encoder: JSONEncoder?, decoder: JSONDecoder?
    ) {
        self.merge = merge
        self.encoder = encoder ?? JSONCodec.encoder
        self.decoder = decoder ?? JSONCodec.decoder
        isDefault = decoder == nil
        // An initial value that can't be encoded has no fields.
        initialFields = [:]
        if merge.kind == .fields { initialFields = (try? fields(of: initialValue)) ?? [:] }
        shape = Self.shape(merge.kind == .fields ? initialFields : Self.members(of: initialValue, by: self.encoder))
    }

    /// Returns the canonical JSON of each field, or of the value under the empty name. Equal values give equal bytes.
    /// - Throws: the encoder's error.
    func fields(of value: State) throws -> [String: Data] {
        let json = try encoder.encode(MarkedJSON(value: value))
        guard merge.kind == .fields else { return [StateRegister.wholeName: try JSONFields.canonical(json)] }
        return try JSONFields.split(json)
    }

    private static func members(of value: State, by encoder: JSONEncoder) -> [String: Data] {
        (try? JSONFields.split(encoder.encode(MarkedJSON(value: value)))) ?? [:]
    }

    /// Returns FNV-1a (Fowler, Noll, Vo; 32 bits) of the names or, for a value without names, of its JSON's first byte.
    private static func shape(_ fields: [String: Data]) -> UInt32 {
        let bare = fields[JSONFields.bareName]?.first.map { $0 == 0x2D || (0x30...0x39).contains($0) ? 0x30 : $0 }
        let names = fields.keys.sorted().joined(separator: "\u{0}").utf8
        return (Array(names) + [bare].compactMap { $0 }).reduce(0x811c_9dc5) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
    }

    /// Indicates whether two values are equal. NaN counts as equal to itself.
    func areEquivalent(_ left: State, _ right: State) -> Bool {
        if left == right { return true }
        guard CodingLoss(from: left, to: right) == nil, let left = try? fields(of: left),
            let right = try? fields(of: right)
        else { return false }
        return differences(from: left, to: right).isEmpty
    }

    /// Returns the fields that differ; nil for a removed field.
    func differences(from old: [String: Data], to new: [String: Data]) -> [String: Data?] {
        var differences: [String: Data?] = [:]
        for name in Set(old.keys).union(new.keys) where !JSONFields.isSame(old[name], new[name]) {
            differences.updateValue(new[name], forKey: name)
        }
        return differences
    }

    struct Change {
        /// The new bytes by field name; nil removes the field.
        var fields: [String: Data?]
        /// All fields together after the change.
        var whole: Data?
    }

    /// Returns the changes that turn the register's value, shown to the app as `old`, into `new`.
    ///
    /// Fields with the same JSON in `old` and `new` keep their held form, which may differ from both. Members that this
    /// type doesn't know stay. Where the type would then decode another value than from `new`, the form in `new` is
    /// used instead.
    /// - Parameter read: the value decoded from `new`.
    func change(
        from old: [String: Data], to new: [String: Data], read: State, in register: StateRegister
    ) -> Change {
        let held = held(by: register)
        var kept: [String: Data?] = [:]
        for name in Set(held.keys).union(new.keys) {
            let form = form(of: held[name], from: old[name], to: new[name])
            if form != new[name] { kept.updateValue(form, forKey: name) }
        }
        let after = StateReader(coder: self, fields: new, value: read).fields(keeping: kept)
        let changes = differences(from: held, to: after)
        return Change(fields: changes, whole: merge.kind == .fields ? JSONFields.join(after) : nil)
    }

    private func form(of held: Data?, from old: Data?, to new: Data?) -> Data? {
        if JSONFields.isSame(old, new) { return held }
        guard let held, let old, let new else { return new }
        return JSONFields.patched(held, from: old, to: new)
    }

    /// Returns the newest content of the register; empty while several values wait to be merged.
    private func held(by register: StateRegister) -> [String: Data] {
        guard merge.kind != .fields else { return fields(of: register) }
        let entries = register.entries(StateRegister.wholeName)
        return entries.count == 1 ? entries[0].bytes.map { [StateRegister.wholeName: $0] } ?? [:] : [:]
    }

    enum Reading {
        /// No field or value was ever set.
        case nothing
        /// A value. `whole` has the bytes of all fields together. `unread` is the error of a value that doesn't decode and so
        /// is left out of the merge.
        case value(State, whole: Data?, unread: (any Error)? = nil)
        /// The fields don't decode together. Has the fallback's value if that decodes, and the error.
        case fallback(State?, any Error)
        case unreadable(any Error)

        var shown: State? {
            switch self {
            case .value(let value, _, _): value
            case .fallback(let value, _): value
            case .nothing, .unreadable: nil
            }
        }
    }

    func reading(of register: StateRegister) -> Reading {
        guard !register.isEmpty else { return .nothing }
        let entries = register.entries(StateRegister.wholeName)
        do {
            switch merge.rule {
            case .fields: return try readFields(register)
            case .whole:
                guard let last = entries.last else { return .nothing }
                return .value(try decode(last), whole: nil)
            case .custom(let combine):
                return merged(entries.map { entry in Result { try decode(entry) } }, by: combine)
            }
        } catch {
            return .unreadable(error)
        }
    }

    /// Indicates whether library versions that reject NaN and infinity can read the register.
    func isReadableByOldVersions(_ register: StateRegister) -> Bool {
        guard isDefault, !register.isEmpty else { return true }
        let values =
            merge.kind == .fields
            ? [JSONFields.join(fields(of: register))] : register.entries(StateRegister.wholeName).map(\.bytes)
        return values.compactMap { $0 }.allSatisfy { json in
            (try? JSONDecoder().decode(State.self, from: json)) != nil
                || (try? decoder.decode(State.self, from: json)) == nil
        }
    }

    private func merged(_ results: [Result<State, any Error>], by combine: (State, State) -> State) -> Reading {
        var (merged, unread): (State?, (any Error)?)
        for result in results {
            switch result {
            case .success(let value): merged = merged.map { combine($0, value) } ?? value
            case .failure(let error): unread = error
            }
        }
        guard let merged else { return unread.map(Reading.unreadable) ?? .nothing }
        return .value(merged, whole: nil, unread: unread)
    }

    private func readFields(_ register: StateRegister) throws -> Reading {
        do {
            let fields = fields(of: register)
            return .value(try value(of: fields), whole: JSONFields.join(fields))
        } catch {
            return .fallback(register.fallback.flatMap { try? decode($0) }, error)
        }
    }

    private func fields(of register: StateRegister) -> [String: Data] {
        var fields = initialFields
        for (name, entries) in register.slots { fields[name] = entries.last?.bytes }
        return fields
    }

    /// Returns the value that the fields form together.
    func value(of fields: [String: Data]) throws -> State {
        guard let json = merge.kind == .fields ? JSONFields.join(fields) : fields[StateRegister.wholeName] else {
            throw CocoaError(.coderReadCorrupt)
        }
        return try decoder.decode(State.self, from: json)
    }

    private func decode(_ entry: StateEntry) throws -> State {
        try decoder.decode(State.self, from: entry.bytes ?? Data())
    }
}

/// Finds out which fields can keep the form that the register holds: the app's type must decode the same value from it
/// as from the type's own encoding.
private struct StateReader<State: Codable & Sendable & Equatable> {
    /// Maximum number of attempts to decode. After that the type's own forms are used.
    private static var triesMax: Int { 64 }

    let coder: StateCoder<State>
    let fields: [String: Data]
    /// The value decoded from `fields`.
    let value: State

    /// Returns the fields in the given forms where possible. A form from which the type decodes another value isn't
    /// used; bisection finds these forms.
    /// - Parameter forms: nil for a field to be removed.
    func fields(keeping forms: [String: Data?]) -> [String: Data] {
        guard !forms.isEmpty else { return fields }
        var triesLeft = Self.triesMax
        let names = kept(forms.keys.sorted()[...], of: forms, &triesLeft)
        let result = with(names, of: forms)
        return names.count == forms.count || isRead(result) ? result : fields
    }

    private func kept(
        _ names: ArraySlice<String>, of forms: [String: Data?], _ triesLeft: inout Int
    ) -> ArraySlice<String> {
        guard triesLeft > 0, !names.isEmpty else { return [] }
        triesLeft -= 1
        if isRead(with(names, of: forms)) { return names }
        guard names.count > 1 else { return [] }
        let middle = (names.startIndex + names.endIndex) / 2
        return kept(names[..<middle], of: forms, &triesLeft) + kept(names[middle...], of: forms, &triesLeft)
    }

    private func with(_ names: ArraySlice<String>, of forms: [String: Data?]) -> [String: Data] {
        var result = fields
        for name in names { result[name] = forms[name] ?? nil }
        return result
    }

    private func isRead(_ fields: [String: Data]) -> Bool {
        (try? coder.value(of: fields)).map { coder.areEquivalent($0, value) } ?? false
    }
}
