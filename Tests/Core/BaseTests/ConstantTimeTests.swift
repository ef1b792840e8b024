import MeshBase
import Testing

@Suite struct ConstantTimeTests {
    @Test func `Only equal bytes of equal length are equal`() {
        let secret = Array("a secret of 20 bytes".utf8)
        #expect("a secret of 20 bytes".utf8.isEqualInConstantTime(to: secret))
        #expect([UInt8]().isEqualInConstantTime(to: "".utf8))
        for index in secret.indices {
            #expect(!secret.prefix(index).isEqualInConstantTime(to: secret))
            var other = secret
            other[index] ^= 0x80
            #expect(!other.isEqualInConstantTime(to: secret))
        }
    }
}
