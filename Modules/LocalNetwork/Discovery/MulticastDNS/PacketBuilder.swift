/// Packs questions and records into packets.
struct PacketBuilder {
    /// Maximum number of bytes per packet, unless it holds a single larger record.
    let bytesMax: Int

    /// Returns responses with all the records, in as few packets as possible. Additional records that don't fit the
    /// first packet follow as answers in later ones.
    func responses(_ answers: [DNSRecord], additionals: [DNSRecord] = []) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        var writer = DNSWriter(bytesMax: bytesMax)
        func finish() {
            if !writer.isEmpty { packets.append(writer.message(flags: [.response, .authoritative])) }
            writer = DNSWriter(bytesMax: bytesMax)
        }
        func add(_ record: DNSRecord, to section: DNSWriter.Section) {
            if writer.append(record, to: section) { return }
            finish()
            if writer.append(record, to: .answers) { return }
            writer = DNSWriter()
            if writer.append(record, to: .answers) { finish() }
        }
        for record in answers { add(record, to: .answers) }
        for record in additionals {
            add(record, to: writer.count(.answers) > 0 && packets.isEmpty ? .additionals : .answers)
        }
        finish()
        return packets
    }

    /// Returns queries with these questions. Known answers that don't fit follow in packets without questions. Each
    /// packet but the last is marked as truncated (RFC 6762 section 7.2).
    func queries(_ questions: [(question: DNSQuestion, known: [DNSRecord])]) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        var writer = DNSWriter(bytesMax: bytesMax)
        var known: [DNSRecord] = []
        func finish() {
            guard !writer.isEmpty else { return }
            for record in known where !writer.append(record, to: .answers) {
                packets.append(writer.message(flags: .truncated))
                writer = DNSWriter(bytesMax: bytesMax)
                _ = writer.append(record, to: .answers)
            }
            packets.append(writer.message(flags: []))
            writer = DNSWriter(bytesMax: bytesMax)
            known = []
        }
        for (question, answers) in questions {
            if !writer.append(question) {
                finish()
                _ = writer.append(question)
            }
            known += answers
        }
        finish()
        return packets
    }

    /// Returns a probe: a question for all types of each name, with the records that we propose (RFC 6762 section 8.1).
    func probe(_ questions: [DNSQuestion], proposed: [DNSRecord]) -> [UInt8] {
        var writer = DNSWriter()
        for question in questions { _ = writer.append(question) }
        for record in proposed { _ = writer.append(record, to: .authorities) }
        return writer.message(flags: [])
    }

    /// Returns a response for a legacy querier (RFC 6762 section 6.7), or nil if it doesn't fit.
    func legacyResponse(to query: DNSMessage, _ answers: [DNSRecord], additionals: [DNSRecord]) -> [UInt8]? {
        var writer = DNSWriter(bytesMax: bytesMax, compressesTargets: false)
        for question in query.questions where !writer.append(question) { return nil }
        for record in answers where !writer.append(Self.legacy(record), to: .answers) { return nil }
        for record in additionals where !writer.append(Self.legacy(record), to: .additionals) { break }
        return writer.message(id: query.id, flags: [.response, .authoritative])
    }

    private static func legacy(_ record: DNSRecord) -> DNSRecord {
        var record = record
        record.flushesCache = false
        record.lifetime = min(record.lifetime, 10)
        return record
    }
}
