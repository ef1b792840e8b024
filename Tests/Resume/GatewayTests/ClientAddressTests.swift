import Testing

@testable import MeshResumeGateway

@Suite struct ClientAddressTests {
    @Test(arguments: [
        ("192.0.2.7", "192.0.2.7"), ("::ffff:192.0.2.7", "192.0.2.7"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"), ("::1", "0:0:0:0::/64"), ("fe80::1%eth0", "fe80:0:0:0::/64"),
        ("2001:db8:1:2::/64", "2001:db8:1:2::/64"), ("no address", "no address"), ("1:2", "1:2"), ("", ""),
    ])
    func `All forms of an address share one name`(address: String, name: String) {
        #expect(ClientAddress.share(of: address) == name)
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.9.8.7", true), ("10.0.0.0/8", "11.0.0.1", false), ("10.1.2.3", "10.1.2.3", true),
        ("10.1.2.3", "10.1.2.4", false), ("2001:db8::/32", "2001:db8:1::1", true), ("::1", "::1", true),
        ("::1", "0:0:0:0:0:0:0:1", true), ("10.0.0.0/8", "::ffff:10.0.0.1", true), ("10.0.0.0/33", "10.0.0.0", false),
        ("10.0.0.0/8", "::1", false), ("0.0.0.0/0", "192.0.2.1", true), ("", "10.0.0.1", false),
    ])
    func `A block holds its addresses`(block: String, address: String, isIn: Bool) {
        #expect(ClientAddress.isIn(block, address) == isIn)
    }

    private static func client(_ peer: String, forwarded: [String] = [], for headers: [String] = []) -> String {
        ClientAddress.client(peer: peer, forwarded: forwarded, forwardedFor: headers, trusting: ["10.0.0.0/8", "::1"])
    }

    @Test func `Only trusted proxies can report a client's address`() {
        #expect(Self.client("192.0.2.1", for: ["198.51.100.1"]) == "192.0.2.1")
        #expect(Self.client("10.0.0.1", for: ["198.51.100.1"]) == "198.51.100.1")
        #expect(Self.client("10.0.0.1") == "10.0.0.1")
        // Addresses that a client writes itself come before the ones that its proxy adds.
        #expect(Self.client("10.0.0.1", for: ["203.0.113.9, 198.51.100.1", "10.0.0.2"]) == "198.51.100.1")
        #expect(Self.client("10.0.0.1", for: ["198.51.100.1, nonsense"]) == "10.0.0.1")
        #expect(Self.client("10.0.0.1", for: ["198.51.100.1:4711"]) == "198.51.100.1")
        #expect(
            Self.client("::1", forwarded: ["for=192.0.2.43;proto=https, For=\"[2001:db8:cafe::17]:4711\""])
                == "2001:db8:cafe::17")
        #expect(Self.client("::1", forwarded: ["for=unknown"], for: ["192.0.2.1"]) == "::1")
    }
}
