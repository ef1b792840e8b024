#if CommandLineTools
    import Foundation
    import WorkoutExample

    /// The commands of a live peer, one key each.
    enum PeerKey: Character, CaseIterable, Sendable {
        case start = "s"
        case pause = "p"
        case resume = "r"
        case lap = "l"
        case finish = "f"
        /// Continues without the members that are away.
        case go = "g"
        case quit = "q"

        /// The tap of this key; nil for other commands.
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

    /// Input from the keyboard or a script.
    enum PeerInput: Sendable {
        case key(PeerKey)
        case unknown(Character)
        case ended
    }

    /// Reads standard input on its own thread.
    enum PeerKeyboard {
        static func read(_ receive: @escaping @Sendable (PeerInput) -> Void) {
            let thread = Thread {
                var bytes = [UInt8](repeating: 0, count: 256)
                while true {
                    let count = Foundation.read(STDIN_FILENO, &bytes, bytes.count)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { return receive(.ended) }
                    // Cursor keys and other escape sequences arrive in one piece.
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
        // ^D, which a terminal in raw mode passes on as a byte.
        private static let endOfInput: UInt8 = 0x04
    }

    extension PeerInput {
        /// Returns nil for bytes to ignore: spaces, line ends, other control characters, and characters outside ASCII.
        fileprivate init?(byte: UInt8) {
            guard (0x21...0x7E).contains(byte) else { return nil }
            let character = Character(Unicode.Scalar(byte))
            let key = PeerKey(rawValue: Character(character.lowercased()))
            self = key.map { .key($0) } ?? .unknown(character)
        }
    }
#endif
