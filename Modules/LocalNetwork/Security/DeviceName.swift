#if UDP || MQTT || WebSocket
    import MeshBase

    /// A device's name, made safe for display: without control characters, invisible characters or changes of the
    /// writing direction, and at most 64 bytes.
    enum DeviceName {
        /// Maximum number of bytes in UTF-8.
        static let bytesMax = 64
        static let unknown = "Unnamed device"

        /// Removes characters that can't be shown and cuts the name; returns `unknown` if nothing is left. O(bytes).
        static func sanitized(_ name: String) -> String {
            var words: [String] = []
            var word = ""
            // A name may be very long, so skip the part that would be cut off anyway.
            for scalar in name.unicodeScalars.prefix(8 * bytesMax) {
                switch scalar.properties.generalCategory {
                case .spaceSeparator, .lineSeparator, .paragraphSeparator, .control:
                    if !word.isEmpty { words.append(word) }
                    word = ""
                default:
                    // An invisible character could make a name look like another one.
                    if scalar.isPrintable, scalar != "\u{200C}" { word.unicodeScalars.append(scalar) }
                }
            }
            if !word.isEmpty { words.append(word) }
            var bounded = ""
            for character in words.joined(separator: " ") {
                guard bounded.utf8.count + String(character).utf8.count <= bytesMax else { break }
                bounded.append(character)
            }
            while bounded.last == " " { bounded.removeLast() }
            return bounded.isEmpty ? unknown : bounded
        }
    }
#endif
