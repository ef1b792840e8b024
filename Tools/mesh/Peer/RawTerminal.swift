#if CommandLineTools
    import Foundation

    /// The terminal at standard input in raw mode: it passes on every key at once and shows none. Its mode is restored however
    /// the process ends, except by a signal that can't be caught.
    @MainActor
    struct RawTerminal {
        /// Returns nil if standard input isn't a terminal.
        init?() {
            guard isatty(STDIN_FILENO) == 1, TerminalMode.keep() else { return nil }
        }

        func enter() {
            var mode = TerminalMode.kept.pointee
            // Keys such as Ctrl-C still send signals, and output processing stays on.
            mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
            tcsetattr(STDIN_FILENO, TCSANOW, &mode)
        }

        func leave() { TerminalMode.restore() }
    }

    /// The terminal's original mode, in memory of its own. A signal handler may not use anything else.
    private enum TerminalMode {
        nonisolated(unsafe) static let kept = UnsafeMutablePointer<termios>.allocate(capacity: 1)
        private static let deadly = [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGQUIT]

        /// Saves the terminal's mode.
        /// - Returns: True if there is a terminal that can be restored.
        static func keep() -> Bool {
            kept.initialize(to: termios())
            guard tcgetattr(STDIN_FILENO, kept) == 0 else { return false }
            atexit { TerminalMode.restore() }
            for number in deadly {
                signal(number) { number in
                    TerminalMode.restore()
                    signal(number, SIG_DFL)
                    raise(number)
                }
            }
            return true
        }

        static func restore() { tcsetattr(STDIN_FILENO, TCSANOW, kept) }
    }
#endif
