import Foundation
import MeshRegister

/// Between values of the app and what a register keeps.
struct StateCoder<State: Codable & Sendable & Equatable> {
    let merge: SharedStateMerge<State>
    let encoder: JSONEncoder
    let decoder: JSONDecoder
    /// What fields are that nobody has set, or that an older version of the app does not have.
    let initialFields: [String: Data]

    init(
        initialValue: State, merge: SharedStateMerge<State>, encoder: JSONEncoder, decoder: JSONDecoder
    ) {
        self.merge = merge
        self.encoder = encoder
        self.decoder = decoder
        // An initial value that cannot be encoded is none that could be changed in part.
        let fields = merge.kind == .fields ? try? JSONFields.split(encoder.encode(initialValue)) : nil
        initialFields = fields ?? [:]
    }

    /// What somebody changes who sees that register and wants this value, by name; nil removes a field. And all fields
    /// together, as they are then.
    /// - Throws: what the encoder throws.
    func changes(to value: State, in register: StateRegister) throws -> ([String: Data?], whole: Data?) {
        let bytes = try encoder.encode(value)
        guard merge.kind == .fields else { return ([StateRegister.wholeName: bytes], nil) }
        let (before, after) = (fields(of: register), try JSONFields.split(bytes))
        var changes: [String: Data?] = [:]
        for (name, bytes) in after where before[name] != bytes { changes.updateValue(bytes, forKey: name) }
        for name in before.keys where after[name] == nil { changes.updateValue(nil, forKey: name) }
        return (changes, JSONFields.join(after))
    }

    enum Reading {
        /// Nobody has set anything.
        case nothing
        /// - whole: the bytes of the fields together.
        /// - unread: why one of several values to be merged is not in it.
        case value(State, whole: Data?, unread: (any Error)? = nil)
        /// The fields together cannot be read; what the fallback says, if it can.
        case fallback(State?, any Error)
        case unreadable(any Error)
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
            guard let bytes = JSONFields.join(fields(of: register)) else { throw CocoaError(.coderReadCorrupt) }
            return .value(try decoder.decode(State.self, from: bytes), whole: bytes)
        } catch {
            return .fallback(register.fallback.flatMap { try? decode($0) }, error)
        }
    }

    private func fields(of register: StateRegister) -> [String: Data] {
        var fields = initialFields
        for (name, entries) in register.slots { fields[name] = entries.last?.bytes }
        return fields
    }

    private func decode(_ entry: StateEntry) throws -> State {
        try decoder.decode(State.self, from: entry.bytes ?? Data())
    }
}
