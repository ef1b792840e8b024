package import MeshIdentity

extension PayloadCodecID {
    /// Former codecs of this library. Their numbers stay reserved, so that no later codec reads bytes that it didn't write.
    package static let retired = [PayloadCodecID(number: 3, name: "cbor")]

    /// Returns a message for bytes of an unreadable codec. It names a retired codec, because the number alone doesn't tell
    /// an app that an earlier version wrote them.
    package static func unknown(_ number: UInt8) -> String {
        guard let codec = retired.first(where: { $0.number == number }) else {
            return "codec \(number) is not registered here"
        }
        return "codec \(number) is \(codec.name), which versions after 0.1.0 no longer read"
    }
}
