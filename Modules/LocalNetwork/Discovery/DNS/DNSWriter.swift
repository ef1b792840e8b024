/// Writes one message up to a maximum size, with compressed names (RFC 1035 section 4.1.4, RFC 6762 section 18.14).
///
/// The caller appends questions first, then answers, authorities and additionals. An entry that doesn't fit is left out
/// completely, and `append` returns false.
package struct DNSWriter {
    package enum Section: Int, Sendable {
        case questions, answers, authorities, additionals
    }

    /// The bytes written after the header.
    private(set) var body: [UInt8] = []
    private var counts: [UInt16] = [0, 0, 0, 0]
    private let bytesMax: Int
    private let compresses: Bool
    /// True to compress the names in SRV and NSEC data, which legacy queriers don't expect.
    private let compressesTargets: Bool
    /// The offset at which each suffix of a name was first written, by its bytes. A suffix starts at a label.
    private var suffixes: [ArraySlice<UInt8>: Int] = [:]

    /// - Parameter bytesMax: Maximum size of the complete message; at most `DNSMessage.bytesMax`.
    package init(bytesMax: Int = DNSMessage.bytesMax, compresses: Bool = true, compressesTargets: Bool = true) {
        self.bytesMax = min(bytesMax, DNSMessage.bytesMax) - DNSMessage.headerBytes
        self.compresses = compresses
        self.compressesTargets = compressesTargets
    }

    package var isEmpty: Bool { body.isEmpty }
    package func count(_ section: Section) -> Int { Int(counts[section.rawValue]) }

    /// Returns the message written so far.
    package func message(id: UInt16 = 0, flags: DNSFlags) -> [UInt8] {
        ([id, flags.rawValue] + counts).flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
            + body
    }

    /// Appends a question. Returns false, without changing the message, if it doesn't fit.
    package mutating func append(_ question: DNSQuestion) -> Bool {
        append(to: .questions) { writer in
            writer.write(question.name, compressed: true)
            writer.write(question.type.rawValue)
            writer.write(question.recordClass.rawValue | (question.wantsUnicast ? 0x8000 : 0))
        }
    }

    /// Appends a record. Returns false, without changing the message, if it doesn't fit.
    package mutating func append(_ record: DNSRecord, to section: Section) -> Bool {
        append(to: section) { writer in
            writer.write(record.name, compressed: true)
            writer.write(record.type.rawValue)
            writer.write(record.recordClass.rawValue | (record.flushesCache ? 0x8000 : 0))
            writer.write(UInt16(truncatingIfNeeded: record.lifetime >> 16))
            writer.write(UInt16(truncatingIfNeeded: record.lifetime))
            let start = writer.body.count
            writer.write(0)
            writer.writeData(record.data)
            let length = writer.body.count - start - 2
            writer.body[start] = UInt8(truncatingIfNeeded: length >> 8)
            writer.body[start + 1] = UInt8(truncatingIfNeeded: length)
        }
    }

    private mutating func append(to section: Section, _ write: (inout DNSWriter) -> Void) -> Bool {
        let before = body.count
        write(&self)
        guard body.count <= bytesMax, counts[section.rawValue] < .max else {
            body.removeSubrange(before...)
            suffixes = suffixes.filter { $0.value < before + DNSMessage.headerBytes }
            return false
        }
        counts[section.rawValue] += 1
        return true
    }
}

// MARK: - Parts

extension DNSWriter {
    mutating func writeData(_ data: DNSRecordData) {
        switch data {
        case .address(let ip): body += ip.bytes
        case .pointer(let name): write(name, compressed: true)
        case .service(let priority, let weight, let port, let target):
            write(priority)
            write(weight)
            write(port)
            write(target, compressed: compressesTargets)
        case .text(let bytes), .opaque(_, let bytes): body += bytes
        case .negative(let next, let types):
            write(next, compressed: compressesTargets)
            write(types)
        }
    }

    /// Writes the types up to 255 as one bit map and ignores the others.
    private mutating func write(_ types: [DNSType]) {
        var bits: [UInt8] = []
        for type in types where type.rawValue <= 255 {
            let index = Int(type.rawValue / 8)
            while bits.count <= index { bits.append(0) }
            bits[index] |= 0x80 >> UInt8(type.rawValue % 8)
        }
        guard !bits.isEmpty else { return }
        body += [0, UInt8(bits.count)] + bits
    }

    private mutating func write(_ word: UInt16) {
        body.append(UInt8(truncatingIfNeeded: word >> 8))
        body.append(UInt8(truncatingIfNeeded: word))
    }

    private mutating func write(_ name: DNSName, compressed: Bool) {
        guard compresses, compressed else {
            body += name.wire
            return
        }
        var rest = name.wire[...]
        while let length = rest.first, length != 0 {
            if let target = suffixes[rest] { return write(0xC000 | UInt16(target)) }
            let place = body.count + DNSMessage.headerBytes
            if place < 0x4000 { suffixes[rest] = place }
            body += rest.prefix(Int(length) + 1)
            rest = rest.dropFirst(Int(length) + 1)
        }
        body.append(0)
    }
}
