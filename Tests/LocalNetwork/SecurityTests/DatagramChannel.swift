#if UDP
    import Crypto
    import Foundation

    @testable import MeshSecurity

    /// One side of a channel. A class, because an array can't hold the noncopyable value.
    final class DatagramEnd {
        var datagrams: SealedDatagrams

        init(_ datagrams: consuming SealedDatagrams) { self.datagrams = datagrams }

        func seal(_ bytes: [UInt8]) throws(SealError) -> [UInt8] { try datagrams.seal(bytes) }
        func open(_ packet: [UInt8]) throws(SealError) -> [UInt8] { try datagrams.open(packet) }

        /// The error of opening, or nil if the packet opens.
        func refusal(of packet: [UInt8]) -> SealError? { caught(SealError.self) { _ = try open(packet) } }
    }

    /// Two sides that have agreed on keys. The first is the initiator.
    struct DatagramChannel {
        let left: DatagramEnd
        let right: DatagramEnd

        init(ids: [PeerID] = [.sample(1), .sample(2)], privateKeys: [[UInt8]]? = nil) throws {
            let keys = try privateKeys.map {
                try $0.map { try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: $0) }
            }
            let first = keys.map { DatagramKeyAgreement($0[0]) } ?? DatagramKeyAgreement()
            let second = keys.map { DatagramKeyAgreement($0[1]) } ?? DatagramKeyAgreement()
            let publicKeys = [first.publicKey, second.publicKey]
            left = DatagramEnd(
                try first.agree(with: publicKeys[1], local: ids[0], remote: ids[1], isInitiator: true))
            right = DatagramEnd(
                try second.agree(with: publicKeys[0], local: ids[1], remote: ids[0], isInitiator: false))
        }
    }
#endif
