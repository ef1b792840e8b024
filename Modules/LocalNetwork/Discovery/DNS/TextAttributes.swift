/// Conversion between the data of a TXT record and attributes (RFC 6763 section 6).
package enum TextAttributes {
    /// Maximum size of the data, as RFC 6763 section 6.2 advises.
    package static let bytesMax = 1300
    package static let keyBytesMax = 9

    /// Returns true if the data consist of complete strings, each after its length byte.
    package static func isWellFormed(_ bytes: [UInt8]) -> Bool {
        var offset = 0
        while offset < bytes.count { offset += 1 + Int(bytes[offset]) }
        return offset == bytes.count
    }

    /// Encodes each attribute as one string, or an empty string if there are none. Leaves out invalid, overlong and
    /// repeated keys, strings above 255 bytes, and attributes that would exceed `bytesMax`.
    package static func encode(_ attributes: [ServiceAttribute]) -> [UInt8] {
        var bytes: [UInt8] = []
        var keys: Set<String> = []
        for attribute in attributes {
            let key = Array(attribute.key.utf8)
            let string = key + (attribute.value.map { [equalsSign] + $0 } ?? [])
            guard isKey(key), key.count <= keyBytesMax, string.count <= 255, bytes.count + 1 + string.count <= bytesMax,
                keys.insert(attribute.key.lowercased()).inserted
            else { continue }
            bytes.append(UInt8(string.count))
            bytes += string
        }
        return bytes.isEmpty ? [0] : bytes
    }

    /// Decodes attributes. Ignores strings without a key and repeated keys (section 6.4).
    package static func decode(_ bytes: [UInt8]) -> [ServiceAttribute] {
        var attributes: [ServiceAttribute] = []
        var keys: Set<String> = []
        var rest = bytes[...]
        while let length = rest.popFirst() {
            let string = rest.prefix(Int(length))
            rest = rest.dropFirst(Int(length))
            let key = string.prefix { $0 != equalsSign }
            let text = String(decoding: key, as: UTF8.self)
            guard isKey(key), keys.insert(text.lowercased()).inserted else { continue }
            attributes.append(
                ServiceAttribute(text, key.count == string.count ? nil : Array(string.dropFirst(key.count + 1))))
        }
        return attributes
    }

    private static let equalsSign = UInt8(ascii: "=")

    private static func isKey(_ key: some Collection<UInt8>) -> Bool {
        !key.isEmpty && key.allSatisfy { (0x20...0x7E).contains($0) && $0 != equalsSign }
    }
}
