#if UDP || MQTT || WebSocket
    import MeshBase

    /// What a device is called, fit to be shown to a person: no controls, no invisible marks, no change of the direction of
    /// writing, at most 64 bytes.
    enum DeviceName {
        /// In UTF-8.
        static let bytesMax = 64
        static let unknown = "Unnamed device"

        /// The name without what must not be shown, cut between characters; `unknown` when nothing is left. O(bytes).
        static func sanitized(_ name: String) -> String {
            var words: [String] = []
            var word = ""
            // What is cut off anyway is not looked at: a name may be long.
            for scalar in name.unicodeScalars.prefix(8 * bytesMax) {
                switch scalar.properties.generalCategory {
                case .spaceSeparator, .lineSeparator, .paragraphSeparator, .control:
                    if !word.isEmpty { words.append(word) }
                    word = ""
                default:
                    // Of two names that look alike one may have been made to.
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
