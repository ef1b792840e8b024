/// Distributes questions and records over packets.
struct PacketBuilder {
    /// For what is more than one record.
    let bytesMax: Int

    /// Responses with all of these, in as few packets as they take; what is added unasked follows as an answer where it
    /// does not fit the packet of its question.
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

    /// Queries with these questions. Known answers that do not fit follow in packets without questions, and each packet
    /// but the last of them says so (RFC 6762 section 7.2).
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

    /// A question for all that there is at each name, and what the asker means to say of it (RFC 6762 section 8.1).
    func probe(_ questions: [DNSQuestion], proposed: [DNSRecord]) -> [UInt8] {
        var writer = DNSWriter()
        for question in questions { _ = writer.append(question) }
        for record in proposed { _ = writer.append(record, to: .authorities) }
        return writer.message(flags: [])
    }

    /// A response as others than multicast resolvers expect it (RFC 6762 section 6.7); nil when it does not fit.
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
