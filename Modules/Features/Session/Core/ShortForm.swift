import Foundation
import MeshEngine
import MeshIdentity
import MeshWire

// The short forms of messages; Docs/Internals/WireFormat.md has the layout. Fields have no names and a fixed order. A
// table at the beginning lists each source, or each series, once. The rest of the message refers to it by a number.
// Flags say which optional fields follow. Rare fields of a control come at the end, encoded as usual.

/// A control, shown values, or news of series without field names, for peers that read it (`SessionControl.reads`).
struct ShortForm: Sendable, Codable, WireCodable {
    /// Values of `SessionSyncMetadata.payloadType` for envelopes with short forms.
    static let controlType = "sessionmesh.control/2"
    static let shownType = "sessionmesh.shown"
    static let seriesType = "sessionmesh.series/2"

    var bytes: [UInt8]

    enum WireKeys: Int, CodingKey { case bytes = 1 }

    func encode(into fields: inout WireFieldWriter<WireKeys>) { fields.write(bytes, .bytes) }

    init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) { bytes = try fields.read(.bytes) }

    init(_ write: (inout WireWriter) -> Void) {
        var writer = WireWriter(capacity: 128)
        write(&writer)
        bytes = writer.array()
    }

    func read<Value>(_ body: (inout WireReader) throws -> Value) throws -> Value {
        try bytes.withUnsafeBytes { bytes in
            var reader = WireReader(bytes)
            return try body(&reader)
        }
    }
}

// MARK: - Controls

extension SessionControl {
    /// Returns true if envelopes of that type carry controls, in either form.
    static func isControl(_ payloadType: String) -> Bool {
        payloadType == Self.payloadType || payloadType == ShortForm.controlType
    }
}

extension ShortForm {
    /// Encodes a control. `source` is the sender, which the metadata name, so the message omits it.
    init(_ control: SessionControl, of source: SessionSource) throws {
        let rest = try control.rest.map { try CompactCodec().encode($0) } ?? []
        // The sender has number 0.
        var table = NumberedValues([source])
        self.init { writer in
            // The table comes first, but gets its entries while the body is written.
            var body = WireWriter(capacity: 128)
            body.write(control, &table)
            writer.write(table)
            body.array().withUnsafeBytes { writer.writeRaw($0) }
            writer.writeVarint(UInt64(rest.count))
            writer.writeRaw(rest)
        }
    }

    /// Decodes a control. Throws `WireError`, or an error of the decoder for the rare fields.
    func control(of source: SessionSource) throws -> SessionControl {
        try read { reader in
            let sources = try reader.readSources(source)
            var control = try reader.readControl(sources)
            var rest = try reader.readRegion()
            guard !rest.isAtEnd else { return control }
            let bytes = try rest.readRaw(rest.remaining)
            control.setRareFields(of: try CompactCodec().decode(SessionControl.self, from: Array(bytes)))
            return control
        }
    }
}

/// Values numbered in the order of their first use in a message.
struct NumberedValues<Value: Hashable> {
    private(set) var list: [Value] = []
    private var numbers: [Value: UInt64] = [:]

    init(_ values: [Value]) { for value in values { _ = number(of: value) } }

    /// Returns the value's number. A new value gets the next one.
    mutating func number(of value: Value) -> UInt64 {
        if let number = numbers[value] { return number }
        let number = UInt64(list.count)
        numbers[value] = number
        list.append(value)
        return number
    }
}

private struct ControlFlags: OptionSet {
    let rawValue: UInt64

    static let digest = ControlFlags(rawValue: 1 << 0)
    static let ended = ControlFlags(rawValue: 1 << 1)
    /// Set if `view` contains nothing but its number.
    static let view = ControlFlags(rawValue: 1 << 2)
    static let silence = ControlFlags(rawValue: 1 << 3)
    static let reads = ControlFlags(rawValue: 1 << 4)
    static let chain = ControlFlags(rawValue: 1 << 5)
}

extension SessionControl {
    private var isPlainView: Bool { view.map { $0 == ViewStatement(number: $0.number) } ?? false }

    fileprivate var flags: ControlFlags {
        var flags: ControlFlags = []
        if isDigest { flags.insert(.digest) }
        if hasEnded { flags.insert(.ended) }
        if isPlainView { flags.insert(.view) }
        if silence != nil { flags.insert(.silence) }
        if reads != nil { flags.insert(.reads) }
        if chain != 0 { flags.insert(.chain) }
        return flags
    }

    /// The rare fields, which travel in the long form; nil if none is set.
    fileprivate var rest: SessionControl? {
        var rest = SessionControl()
        rest.wants = wants
        rest.replacements = replacements
        rest.forked = forked
        if !isPlainView { rest.view = view }
        rest.record = record
        rest.relays = relays
        rest.stateDigest = stateDigest
        rest.reissues = reissues
        return rest == SessionControl() ? nil : rest
    }

    fileprivate mutating func setRareFields(of rest: SessionControl) {
        (wants, replacements, forked) = (rest.wants, rest.replacements, rest.forked)
        if let view = rest.view { self.view = view }
        (record, relays, stateDigest, reissues) = (rest.record, rest.relays, rest.stateDigest, rest.reissues)
    }
}

extension WireWriter {
    fileprivate mutating func write(_ table: NumberedValues<SessionSource>) {
        writeVarint(UInt64(table.list.count - 1))
        for source in table.list.dropFirst() {
            write(source.peerID)
            write(source.incarnation)
        }
    }

    fileprivate mutating func write(_ control: SessionControl, _ table: inout NumberedValues<SessionSource>) {
        writeVarint(control.flags.rawValue)
        writeVarint(control.group.map { table.number(of: $0) + 1 } ?? 0)
        writeVarint(UInt64(control.members.count))
        for member in control.members { writeVarint(table.number(of: member)) }
        writeVarint(control.firstSequence)
        writeVarint(UInt64(control.held.entries.count))
        for entry in control.held.entries {
            writeVarint(table.number(of: entry.source))
            writeVarint(entry.sequence)
        }
        for tokens in [control.asks, control.echoes] {
            writeVarint(UInt64(tokens.count))
            for token in tokens {
                writeVarint(table.number(of: token.source))
                write(token.value)
            }
        }
        writeVarint(control.position)
        if control.chain != 0 { write(control.chain) }
        writeVarint(UInt64(control.clockEchoes.count))
        for echo in control.clockEchoes {
            writeVarint(table.number(of: echo.source))
            write(echo.sentAt.timeIntervalSinceReferenceDate)
            write(echo.receivedAt.timeIntervalSinceReferenceDate)
        }
        if control.flags.contains(.view) { writeVarint(control.view?.number ?? 0) }
        if let silence = control.silence { writeVarint(silence) }
        if let reads = control.reads { writeVarint(reads) }
    }
}

extension WireReader {
    /// Reads the length of a list. Each entry takes at least one byte, so it can't exceed the bytes that are left.
    mutating func readCount() throws(WireError) -> Int {
        let count = try readVarint()
        guard count <= UInt64(remaining) else { throw WireError(.truncated, "a list of \(count) entries") }
        return Int(count)
    }

    /// Reads a length and that many bytes.
    mutating func readBytes() throws(WireError) -> [UInt8] { [UInt8](try readRaw(try readLength())) }

    fileprivate mutating func readSources(_ sender: SessionSource) throws(WireError) -> [SessionSource] {
        var sources = [sender]
        for _ in 0..<(try readCount()) {
            let peerID = try readString()
            sources.append(SessionSource(peerID: peerID, incarnation: try readUInt32()))
        }
        return sources
    }

    private mutating func readSource(_ sources: [SessionSource]) throws(WireError) -> SessionSource {
        let number = try readVarint()
        guard number < UInt64(sources.count) else {
            throw WireError(.invalidValue, "source \(number) of \(sources.count)")
        }
        return sources[Int(number)]
    }

    private mutating func readTokens(_ sources: [SessionSource]) throws(WireError) -> [LivenessToken] {
        var tokens: [LivenessToken] = []
        for _ in 0..<(try readCount()) {
            let source = try readSource(sources)
            tokens.append(LivenessToken(source: source, value: try readUInt32()))
        }
        return tokens
    }

    fileprivate mutating func readControl(_ sources: [SessionSource]) throws(WireError) -> SessionControl {
        var control = SessionControl()
        let flags = ControlFlags(rawValue: try readVarint())
        control.isDigest = flags.contains(.digest)
        control.hasEnded = flags.contains(.ended)
        let group = try readVarint()
        guard group <= UInt64(sources.count) else {
            throw WireError(.invalidValue, "source \(group) of \(sources.count)")
        }
        control.group = group == 0 ? nil : sources[Int(group) - 1]
        for _ in 0..<(try readCount()) { control.members.append(try readSource(sources)) }
        control.firstSequence = try readVarint()
        var held: [SourceSequence] = []
        for _ in 0..<(try readCount()) {
            let source = try readSource(sources)
            held.append(SourceSequence(source: source, sequence: try readVarint()))
        }
        control.held = SequenceVector(held)
        control.asks = try readTokens(sources)
        control.echoes = try readTokens(sources)
        control.position = try readVarint()
        if flags.contains(.chain) { control.chain = try readUInt64() }
        for _ in 0..<(try readCount()) {
            let source = try readSource(sources)
            let sentAt = Date(timeIntervalSinceReferenceDate: try readDouble())
            let receivedAt = Date(timeIntervalSinceReferenceDate: try readDouble())
            control.clockEchoes.append(ClockEcho(source: source, sentAt: sentAt, receivedAt: receivedAt))
        }
        if flags.contains(.view) { control.view = ViewStatement(number: try readVarint()) }
        if flags.contains(.silence) { control.silence = try readVarint() }
        if flags.contains(.reads) { control.reads = try readVarint() }
        return control
    }
}

// MARK: - Shown values

extension ShortForm {
    /// Encodes values that `source`, the sender, has written. Returns nil if an earlier incarnation wrote one.
    ///
    /// - Parameter stamp: the stamp of the message. Values are slightly older, and only the difference is written.
    init?(_ samples: [EphemeralLane<[UInt8]>.Sample], of source: SessionSource, at stamp: HybridTimestamp) {
        guard samples.allSatisfy({ $0.source == source }) else { return nil }
        self.init { writer in
            for sample in samples {
                writer.write(sample.key)
                writer.writeVarint(sample.sequence)
                writer.writeSignedVarint(Int64(stamp.milliseconds) - Int64(sample.stamp.milliseconds))
                writer.writeVarint(UInt64(sample.stamp.counter))
                writer.writeVarint(UInt64(sample.value.count))
                writer.writeRaw(sample.value)
            }
        }
    }

    /// Decodes shown values. Throws `WireError`.
    func samples(of source: SessionSource, at stamp: HybridTimestamp) throws -> [EphemeralLane<[UInt8]>.Sample] {
        try read { reader in
            var samples: [EphemeralLane<[UInt8]>.Sample] = []
            while !reader.isAtEnd {
                let key = try reader.readString()
                let sequence = try reader.readVarint()
                let stamp = try reader.readStamp(before: stamp)
                let bytes = try reader.readBytes()
                samples.append(.init(source: source, key: key, sequence: sequence, stamp: stamp, value: bytes))
            }
            return samples
        }
    }
}

extension WireReader {
    fileprivate mutating func readStamp(before stamp: HybridTimestamp) throws(WireError) -> HybridTimestamp {
        let (milliseconds, overflows) = Int64(stamp.milliseconds).subtractingReportingOverflow(try readSignedVarint())
        guard !overflows, milliseconds >= 0, milliseconds <= Int64(HybridTimestamp.millisecondsMax),
            let counter = UInt16(exactly: try readVarint())
        else { throw WireError(.invalidValue, "a stamp is out of range") }
        return HybridTimestamp(milliseconds: UInt64(milliseconds), counter: counter)
    }
}

extension SessionSyncMetadata {
    var sender: SessionSource { SessionSource(peerID: sourcePeerID, incarnation: incarnation) }
}
