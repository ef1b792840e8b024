#if SystemDiscovery || canImport(Darwin)
    /// The TXT record of a service (RFC 6763 section 6): strings of a length byte and up to 255 bytes, `key=value`.
    enum SystemTextRecord {
        static let bytesMax = 1300
        static let labelBytesMax = 63

        /// Whether a service can be announced as it is.
        static func fits(_ announcement: ServiceAnnouncement) -> Bool {
            let label = announcement.instance.utf8
            guard (1...labelBytesMax).contains(label.count), !label.contains(0) else { return false }
            return announcement.attributes.allSatisfy(fits) && encode(announcement.attributes).count <= bytesMax
        }

        static func encode(_ attributes: [ServiceAttribute]) -> [UInt8] {
            var bytes: [UInt8] = []
            for attribute in attributes {
                let string = Array(attribute.key.utf8) + (attribute.value.map { [equals] + $0 } ?? [])
                bytes.append(UInt8(clamping: string.count))
                bytes += string.prefix(255)
            }
            // An empty record is one empty string.
            return bytes.isEmpty ? [0] : bytes
        }

        /// Strings without a key are left out; a string that is cut short, and what follows it, too.
        static func decode(_ bytes: [UInt8]) -> [ServiceAttribute] {
            var attributes: [ServiceAttribute] = []
            var rest = bytes[...]
            while let length = rest.popFirst(), rest.count >= Int(length) {
                let string = rest.prefix(Int(length))
                rest = rest.dropFirst(Int(length))
                let end = string.firstIndex(of: equals)
                let key = string[..<(end ?? string.endIndex)]
                guard !key.isEmpty, key.allSatisfy(isPrintable) else { continue }
                attributes.append(
                    ServiceAttribute(String(decoding: key, as: UTF8.self), end.map { Array(string[($0 + 1)...]) }))
            }
            return attributes
        }

        /// Another name that tells the same: `name (2)`, cut to fit a label.
        static func alternative(to instance: String, _ number: Int) -> String {
            let suffix = " (\(number))"
            var name = instance
            while name.utf8.count + suffix.utf8.count > labelBytesMax { name.removeLast() }
            return name + suffix
        }

        private static let equals = UInt8(ascii: "=")

        private static func fits(_ attribute: ServiceAttribute) -> Bool {
            let key = attribute.key.utf8
            return (1...9).contains(key.count) && key.allSatisfy { isPrintable($0) && $0 != equals }
                && key.count + 1 + (attribute.value?.count ?? 0) <= 255
        }

        private static func isPrintable(_ byte: UInt8) -> Bool { (0x20...0x7E).contains(byte) }
    }
#endif
