import MeshBase
import Testing

@testable import MeshDiscovery

@Suite struct DNSNameTests {
    @Test func `names that differ in the case of ASCII letters only are equal (RFC 1035 2.3.3)`() throws {
        #expect(name("_HTTP._tcp.Local") == name("_http._TCP.local"))
        #expect(name("_HTTP._tcp.Local").hashValue == name("_http._TCP.local").hashValue)
        #expect(name("a[.local") != name("a{.local"))
        #expect(name("É.local") != name("é.local"))
    }

    @Test func `names with the same bytes but other labels differ`() throws {
        let dotted = try DNSName(labels: [Array("a.b".utf8), Array("local".utf8)])
        #expect(dotted != name("a.b.local"))
        #expect(dotted.parent == name("local"))
        #expect(Array(dotted.firstLabel) == Array("a.b".utf8))
    }

    @Test func `labels have 1 to 63 bytes and names at most 255`() throws {
        for count in 0...70 {
            let label = [UInt8](repeating: 0x61, count: count)
            #expect((try? DNSName(labels: [label])) == nil || (1...63).contains(count))
            #expect((try? DNSName.root.prefixed(by: label)) != nil || !(1...63).contains(count))
        }
        let label = [UInt8](repeating: 0x61, count: 62)
        #expect(throws: Never.self) { try DNSName(labels: [label, label, label, label]).wire.count == 253 }
        #expect(throws: DNSError.self) { try DNSName(labels: [label, label, label, label, [1, 2]]) }
        #expect(throws: DNSError.self) { try DNSName("a..b") }
    }

    @Test func `the root has no labels and no parent`() {
        #expect(DNSName.root.labels.isEmpty)
        #expect(DNSName.root.firstLabel.isEmpty)
        #expect(DNSName.root.parent == nil)
        #expect(DNSName.root.description == ".")
    }
}

@Suite struct DNSMessageTests {
    static let sample: DNSMessage = {
        var message = response(
            [
                pointer("Ä phone (2)"),
                DNSRecord(name("x.local"), .opaque(DNSType(rawValue: 13), [1, 2, 3]), lifetime: 7),
            ],
            additionals: [
                service("Ä phone (2)", host: "host.local"), text("Ä phone (2)", [ServiceAttribute("v", "1")]),
                address("host.local", DiscoveryWorld.ip(0, 7)), address("host.local", .v6(0xFE80 << 48, 1)),
                DNSRecord(
                    name("host.local"), .negative(next: name("host.local"), types: [.a, .aaaa]), lifetime: 120,
                    flushesCache: true),
            ])
        message.questions = [DNSQuestion(typeName, .ptr, wantsUnicast: true), DNSQuestion(name("host.local"), .any)]
        message.authorities = [service("other", host: "other.local")]
        message.id = 0xABCD
        return message
    }()

    @Test func `a written message can be read`() throws {
        #expect(try DNSMessage(bytes(of: Self.sample)) == Self.sample)
    }

    @Test func `a repeated name is written as a pointer (RFC 6762 18.14)`() throws {
        var writer = DNSWriter()
        _ = writer.append(service("a", host: "b.local"), to: .answers)
        let first = writer.message(flags: []).count
        _ = writer.append(service("a", host: "b.local"), to: .answers)
        // Sizes of a pointer, the fixed part, the priority, weight and port, and a pointer.
        #expect(writer.message(flags: []).count - first == 2 + 10 + 6 + 2)
    }

    @Test func `a record that does not fit leaves the message as it was`() throws {
        for limit in 12...200 {
            var writer = DNSWriter(bytesMax: limit)
            var count = 0
            for number in 0..<8 {
                let before = writer.message(flags: .response)
                if writer.append(pointer("instance \(number)"), to: .answers) {
                    count += 1
                } else {
                    #expect(writer.message(flags: .response) == before)
                }
            }
            let message = writer.message(flags: .response)
            #expect(message.count <= max(limit, 12))
            #expect(try DNSMessage(message).answers.count == count)
        }
    }

    @Test func `a message that ends anywhere too early is an error`() throws {
        let whole = bytes(of: Self.sample)
        for count in 0..<whole.count {
            #expect(throws: DNSError.self, "\(count) bytes") { try DNSMessage(Array(whole.prefix(count))) }
        }
    }

    @Test func `any flipped bit gives an error, or a message that can be written and read`() throws {
        let whole = bytes(of: Self.sample)
        for index in whole.indices {
            for bit in 0..<8 {
                var damaged = whole
                damaged[index] ^= 1 << UInt8(bit)
                guard let message = try? DNSMessage(damaged) else { continue }
                #expect(try DNSMessage(bytes(of: message)) == message, "byte \(index), bit \(bit)")
            }
        }
    }

    @Test(arguments: 0..<64 as Range<UInt64>)
    func `random bytes behind a header give an error at most`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<200 {
            var message: [UInt8] = [0, 0, 0x84, 0, 0, 1, 0, UInt8(random.upTo(4)), 0, 0, 0, UInt8(random.upTo(4))]
            message += (0..<random.upTo(120)).map { _ in
                random.happens(rate: 0.3) ? UInt8(0xC0) : UInt8(truncatingIfNeeded: random.next() >> 56) & 0x1F
            }
            _ = try? DNSMessage(message)
        }
    }

    /// One question with the given bytes as its name, then its type and class.
    private func question(_ name: [UInt8]) -> [UInt8] { [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0] + name + [0, 12, 0, 1] }

    @Test func `a pointer to itself, forward, to its own part or into the header is an error`() {
        for target: UInt8 in [12, 13, 14, 18, 0, 4, 11, 255] {
            #expect(throws: DNSError.self) { try DNSMessage(question([0xC0, target])) }
        }
        #expect(throws: DNSError(.badPointer, at: 14)) { try DNSMessage(question([1, 0x61, 0xC0, 12])) }
        #expect(throws: DNSError(.badPointer, at: 14)) { try DNSMessage(question([1, 0x61, 0xC0, 14])) }
    }

    @Test func `two pointers that point at each other are an error`() {
        let bytes: [UInt8] = [0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0xC0, 18, 0, 12, 0, 1, 0xC0, 12, 0, 12, 0, 1]
        #expect(throws: DNSError(.badPointer, at: 12)) { try DNSMessage(bytes) }
    }

    @Test func `the reserved forms of labels are errors`() {
        for length: UInt8 in 0x40...0xBF {
            #expect(throws: DNSError.self) { try DNSMessage(question([length] + [UInt8](repeating: 0, count: 200))) }
        }
    }

    @Test func `a name of more than 255 bytes is an error, however it is put together`() {
        let label = [63] + [UInt8](repeating: 0x61, count: 63)
        #expect(throws: DNSError.self) { try DNSMessage(question(label + label + label + label + [0])) }
        let short: [UInt8] = [61] + [UInt8](repeating: 0x61, count: 61)
        #expect(throws: Never.self) { try DNSMessage(question(label + label + label + short + [0])) }
        // The second name has one label more than the first name, to which it points.
        let longest = question(label + label + label + short + [0])
        var both = longest + [1, 0x62, 0xC0, 12, 0, 12, 0, 1]
        both[5] = 2
        #expect(throws: DNSError.self) { try DNSMessage(both) }
    }

    @Test func `counts that the bytes cannot hold are refused before anything is read`() {
        for place in 0..<4 {
            var bytes = [UInt8](repeating: 0, count: 12)
            bytes[4 + place * 2] = 0xFF
            bytes[5 + place * 2] = 0xFF
            bytes += [UInt8](repeating: 0, count: 8000)
            #expect(throws: DNSError(.truncated, at: 4)) { try DNSMessage(bytes) }
        }
    }

    @Test func `messages above 9,000 bytes are not read (RFC 6762 17)`() {
        let whole = bytes(of: Self.sample)
        #expect(throws: Never.self) { try DNSMessage(whole + [UInt8](repeating: 0, count: 9000 - whole.count)) }
        #expect(throws: DNSError(.tooLarge)) {
            try DNSMessage(whole + [UInt8](repeating: 0, count: 9001 - whole.count))
        }
        #expect(throws: DNSError(.tooLarge)) { try DNSMessage([UInt8](repeating: 0xC0, count: 65536)) }
    }

    @Test func `names expanded by pointers are bounded for the whole message`() {
        let label = [63] + [UInt8](repeating: 0x61, count: 63)
        var bytes = question(label + label + label + [0])
        let count = 1000
        for _ in 1..<count { bytes += [0xC0, 12, 0, 12, 0, 1] }
        (bytes[4], bytes[5]) = (UInt8(count >> 8), UInt8(count & 0xFF))
        #expect(bytes.count < DNSMessage.bytesMax)
        #expect { try DNSMessage(bytes) } throws: { ($0 as? DNSError)?.code == .tooLarge }
    }

    @Test func `data that are not as long as they should be are errors`() throws {
        let whole = response([address("h.local", DiscoveryWorld.ip(0, 1))])
        var short = bytes(of: whole)
        short[short.count - 5] = 3
        #expect(throws: DNSError.self) { try DNSMessage(short) }
        var torn = bytes(of: response([text("a", [ServiceAttribute("key", "value")])]))
        // The string claims to be longer than its record.
        torn[torn.count - 10] = 10
        #expect(throws: DNSError.self) { try DNSMessage(torn) }
    }

    @Test func `the types of a name come in blocks, each once and in order (RFC 4034 4.1.2)`() throws {
        func negative(_ bits: [UInt8]) -> [UInt8] {
            [0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 47, 0, 1, 0, 0, 0, 9, 0, UInt8(1 + bits.count), 0] + bits
        }
        let types = try DNSMessage(negative([0, 2, 0x40, 0x08, 1, 1, 0x80])).answers.first?.data
        #expect(types == .negative(next: .root, types: [.a, .ptr]))
        for bits: [UInt8] in [
            [0, 1, 0x21, 0, 1, 0x40], [1, 1, 0x40, 0, 1, 0x40], [0, 0], [0, 33], [0], [0, 2, 0x40],
        ] {
            #expect(throws: DNSError.self, "\(bits)") { try DNSMessage(negative(bits)) }
        }
    }

    @Test func `a lifetime with the highest bit set counts as zero`() throws {
        #expect(try DNSMessage(bytes(of: response([pointer("a", lifetime: 0x8000_0000)]))).answers.first?.lifetime == 0)
    }
}

@Suite struct TextAttributesTests {
    @Test func `attributes survive`() {
        let attributes = [
            ServiceAttribute("v", "1"), ServiceAttribute("flag", nil), ServiceAttribute("empty", ""),
            ServiceAttribute("raw", [0, 255, 61, 10]),
        ]
        #expect(TextAttributes.decode(TextAttributes.encode(attributes)) == attributes)
    }

    @Test func `no attributes are one empty string (RFC 6763 6.1)`() {
        #expect(TextAttributes.encode([]) == [0])
        #expect(TextAttributes.decode([0]).isEmpty)
        #expect(TextAttributes.decode([]).isEmpty)
    }

    @Test func `the first of repeated keys counts, and a string without a key is ignored (RFC 6763 6.4)`() {
        let bytes = ["a=1", "=x", "A=2", "", "b"].flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        #expect(TextAttributes.decode(bytes) == [ServiceAttribute("a", "1"), ServiceAttribute("b", nil)])
    }

    @Test func `a record that does not fit is left out`() {
        let long = ServiceAttribute("k", [UInt8](repeating: 1, count: 254))
        #expect(TextAttributes.encode([long]) == [0])
        let many = (0..<100).map { ServiceAttribute("k\($0)", [UInt8](repeating: 1, count: 100)) }
        let bytes = TextAttributes.encode(many)
        #expect(bytes.count <= TextAttributes.bytesMax)
        #expect(TextAttributes.isWellFormed(bytes))
        #expect(TextAttributes.decode(bytes).count == 12)
        #expect(TextAttributes.encode([ServiceAttribute("a=b", "1"), ServiceAttribute("", "1")]) == [0])
    }
}
