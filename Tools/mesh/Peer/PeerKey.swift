#if CommandLineTools
    import Foundation
    import WorkoutExample

    /// What a person can ask of a live peer, by one key each.
    enum PeerKey: Character, CaseIterable, Sendable {
        case start = "s"
        case pause = "p"
        case resume = "r"
        case lap = "l"
        case finish = "f"
        /// Without the members that are away.
        case go = "g"
        case quit = "q"

        /// nil for a key that is no tap.
        var tap: WorkoutTap? {
            switch self {
            case .start: .start
            case .pause: .pause
            case .resume: .resume
            case .lap: .lap
            case .finish: .finish
            case .go, .quit: nil
            }
        }

        static var help: String { allCases.map { "\($0.rawValue) \($0)" }.joined(separator: ", ") }
    }

    /// What comes from the keyboard, or whatever is in its place.
    enum PeerInput: Sendable {
        case key(PeerKey)
        case unknown(Character)
        case ended
    }

    /// Reads standard input on a thread of its own, as it comes.
    enum PeerKeyboard {
        static func read(_ receive: @escaping @Sendable (PeerInput) -> Void) {
            let thread = Thread {
                var bytes = [UInt8](repeating: 0, count: 256)
                while true {
                    let count = Foundation.read(STDIN_FILENO, &bytes, bytes.count)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { return receive(.ended) }
                    // Cursor keys and the like come in one piece.
                    if bytes[0] == escape { continue }
                    for byte in bytes[..<count] {
                        if byte == endOfInput { return receive(.ended) }
                        guard let input = PeerInput(byte: byte) else { continue }
                        receive(input)
                    }
                }
            }
            thread.start()
        }

        private static let escape: UInt8 = 0x1B
        /// What ^D is where a terminal hands over every key.
        private static let endOfInput: UInt8 = 0x04
    }

    extension PeerInput {
        /// nil for what is not meant: spaces, ends of lines, other control characters, and characters beyond ASCII.
        fileprivate init?(byte: UInt8) {
            guard (0x21...0x7E).contains(byte) else { return nil }
            let character = Character(Unicode.Scalar(byte))
            let key = PeerKey(rawValue: Character(character.lowercased()))
            self = key.map { .key($0) } ?? .unknown(character)
        }
    }
#endif
