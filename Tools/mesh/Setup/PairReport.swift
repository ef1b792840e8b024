#if CommandLineTools && (UDP || MQTT)
    import Foundation
    import MeshSecurity
    import MeshToolOutput

    #if UDP
        import MeshUDPTransport
    #endif
    #if MQTT
        import MeshMQTTTransport
    #endif

    /// The output of `mesh pair` while two peers pair.
    struct PairReport: Sendable {
        let isJSON: Bool

        /// A line of `--json`. Scripts rely on the keys: later versions may add keys but never remove one.
        private struct Line: Encodable {
            let change: String
            var secret: String?
            var port: UInt16?
            var code: String?
            var id: String?
            var name: String?
            var reason: String?
        }

        func show(_ secret: PairingSecret) throws(OutputError) {
            try say(
                Line(change: "secret", secret: secret.text),
                "The other peer needs this on standard input, with --secret-file -:\n    \(secret.text)")
        }

        /// Prints the window's port as soon as it is open.
        func wait(for window: PairingWindow) async throws {
            let port = try await window.port()
            try say(
                Line(change: "waiting", port: port),
                "Waiting a minute for the other peer to run `mesh pair`\(port.map { " (port \($0))" } ?? "") …")
        }

        /// Asks the user to compare the codes. The answer may take as long as the window is open.
        func compare(_ code: String) async throws(OutputError) -> Bool {
            let digits = "\(code.prefix(3)) \(code.dropFirst(3))"
            try say(Line(change: "compare", code: code), "\n    \(digits)\n")
            return await withCheckedContinuation { answer in
                // Reading blocks, and the window may close first. Then nothing waits for this thread anymore.
                let thread = Thread { answer.resume(returning: Self.readAnswer()) }
                thread.start()
            }
        }

        private static func readAnswer() -> Bool {
            while true {
                ToolOutput.drawRemark("Does the other peer show the same digits? [y/n] ")
                switch readLine()?.trimmingCharacters(in: .whitespaces).lowercased() {
                case "y", "yes": return true
                case "n", "no", nil: return false
                default: continue
                }
            }
        }

        /// Prints that two peers are paired. Ignores output errors: the pairing is complete anyway.
        func paired(_ peer: TrustedPeer) {
            try? say(
                Line(change: "paired", id: peer.id.description, name: peer.name),
                "Paired with \(peer.name) (\(peer.id.description.prefix(12))…).")
        }

        /// Returns the error with which the tool ends: one line that says what to do next.
        func failed(_ error: any Error) -> ToolError {
            let reason = Self.reason(error)
            if isJSON { try? say(Line(change: "failed", reason: reason), "") }
            return ToolError(reason)
        }

        private static func reason(_ error: any Error) -> String {
            #if UDP
                if let error = error as? UDPPairingError { return reason(error) }
            #endif
            #if MQTT
                if let error = error as? MQTTError {
                    return error.code == .timedOut
                        ? "\(error.message): run `mesh pair` for the other peer within a minute, with the same secret and "
                            + "the same broker"
                        : "not paired: \(error.cause ?? error); try again on both, with a new secret"
                }
            #endif
            return "not paired: \(error)"
        }

        #if UDP
            private static func reason(_ error: UDPPairingError) -> String {
                switch (error.code, error.cause) {
                case (_, PairingError.wrongSecret):
                    return
                        "not paired: the other peer has another secret, or somebody is between the two; use a new one"
                case (_, PairingError.differentMethod):
                    return "not paired: one peer has a secret and the other compares digits; give both the same"
                case (.timedOut, _):
                    return
                        "not paired in time: run `mesh pair` for the other peer within a minute; `mesh doctor` tells "
                        + "whether they can find each other"
                case (.declined, _), (_, PairingError.declined):
                    return "not paired: the digits were not the same for everybody; if they should have been, try again"
                case (.disconnected, _): return "not paired: the other peer has gone; try again on both"
                default: return "not paired: \(error.message); try again on both"
                }
            }
        #endif

        private func say(_ line: Line, _ text: String) throws(OutputError) {
            guard isJSON else { return try ToolOutput.print(text) }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            // Text and a number always encode.
            try ToolOutput.print(json: (try? encoder.encode(line)).map { String(decoding: $0, as: UTF8.self) } ?? "")
        }
    }
#endif
