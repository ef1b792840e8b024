#if CommandLineTools
    import Foundation

    /// The terminal at standard input, handing over every key at once and showing none. It becomes as it was however the
    /// process ends, save by a signal that nobody can catch.
    @MainActor
    struct RawTerminal {
        /// nil when standard input is no terminal.
        init?() {
            guard isatty(STDIN_FILENO) == 1, TerminalMode.keep() else { return nil }
        }

        func enter() {
            var mode = TerminalMode.kept.pointee
            // Signals stay keys, and the output is left as it is.
            mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
            tcsetattr(STDIN_FILENO, TCSANOW, &mode)
        }

        func leave() { TerminalMode.restore() }
    }

    /// How the terminal was. In memory of its own, since a handler of a signal may use nothing else.
    private enum TerminalMode {
        nonisolated(unsafe) static let kept = UnsafeMutablePointer<termios>.allocate(capacity: 1)
        private static let deadly = [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGQUIT]

        /// - Returns: whether there is a terminal that can be restored.
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
