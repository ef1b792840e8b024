#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshToolOutput

    #if MQTT
        import MeshMQTTTransport
    #endif

    /// Reads secrets from a file, standard input or the environment. Never from arguments, which other users can read.
    enum Secrets {
        static let bytesMax = 4096

        // Environment variables, used if no file is given.
        static let password = "MESH_PASSWORD"
        static let token = "MESH_TOKEN"
        static let pairing = "MESH_PAIRING_SECRET"
        static let gateway = "MESH_GATEWAY_SECRET"
        static let publishing = "MESH_PUBLISH_TOKEN"
        static let redis = "MESH_REDIS_PASSWORD"

        /// Returns the help text of an option.
        static func help(_ text: String, _ variable: String) -> ArgumentHelp {
            ArgumentHelp(
                "\(text): a file that holds it, or '-' for a line of standard input. Without the option: $\(variable).",
                valueName: "file")
        }

        /// - Parameter file: nil reads the environment.
        /// - Returns: nil if there is no secret.
        /// - Throws: `ToolError` for a file that can't be read, is empty or has more than `bytesMax` bytes.
        static func read(file: String?, variable: String) throws(ToolError) -> String? {
            guard let file else {
                return ProcessInfo.processInfo.environment[variable].flatMap { $0.isEmpty ? nil : $0 }
            }
            let bytes: [UInt8]
            if file == "-" {
                bytes = line()
            } else {
                let handle = FileHandle(forReadingAtPath: file)
                guard let data = try? handle?.read(upToCount: bytesMax + 2) else {
                    throw ToolError("'\(file)' can't be read; name a file that holds the secret, or '-'")
                }
                bytes = Array(data)
            }
            let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines)
            guard !text.isEmpty, text.utf8.count <= bytesMax else {
                let place = file == "-" ? "standard input" : "'\(file)'"
                throw ToolError("\(place) must hold a secret of 1 to \(bytesMax) bytes")
            }
            return text
        }

        /// Reads a line of standard input byte by byte. The rest stays for other readers.
        private static func line() -> [UInt8] {
            var bytes: [UInt8] = []
            var byte: UInt8 = 0
            while bytes.count <= bytesMax, Foundation.read(STDIN_FILENO, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
                bytes.append(byte)
            }
            return bytes
        }

        /// - Parameter option: The option that the error suggests instead.
        /// - Throws: `ValidationError`, without the URL.
        static func refusePassword(in url: String, _ option: String, _ variable: String) throws {
            guard let rest = url.range(of: "://").map({ url[$0.upperBound...] }) else { return }
            // A gateway's path may contain an '@'. URLs of brokers and Redis have none there.
            let authority = url.hasPrefix("ws") ? rest.prefix { !"/?#".contains($0) } : rest
            guard let end = authority.lastIndex(of: "@"), authority[..<end].contains(":") else { return }
            throw ValidationError(
                "the URL holds a password, which every user of this machine can read: leave it out, and put it into a file "
                    + "(\(option)) or into $\(variable)")
        }
    }

    /// The password option, for brokers whose URL names a user.
    struct BrokerPassword: ParsableArguments {
        @Option(help: Secrets.help("With --link mqtts://user@host: the password", Secrets.password))
        var passwordFile: String?

        /// - Throws: `ValidationError`.
        func validate(url: String?) throws {
            guard let url else {
                if passwordFile != nil { throw ValidationError("--password-file is for --link mqtts://user@host") }
                return
            }
            try Secrets.refusePassword(in: url, "--password-file", Secrets.password)
            if passwordFile != nil, !url.contains("@") {
                throw ValidationError("--password-file needs the user in the URL: mqtts://user@host")
            }
        }

        /// - Throws: `ToolError`.
        func read() throws(ToolError) -> String? { try Secrets.read(file: passwordFile, variable: Secrets.password) }

        #if MQTT
            /// - Throws: `ToolError`.
            func broker(at url: String) throws -> MQTTBroker {
                var broker = try MQTTBroker(argument: url)
                if broker.user != nil { broker.password = try read() }
                return broker
            }
        #endif
    }

    /// The token option, for gateways.
    struct GatewayToken: ParsableArguments {
        @Option(help: Secrets.help("With --link wss://: the token by which the gateway knows the user", Secrets.token))
        var tokenFile: String?

        /// - Throws: `ValidationError`.
        func validate(url: String?) throws {
            if let url { return try Secrets.refusePassword(in: url, "--token-file", Secrets.token) }
            if tokenFile != nil { throw ValidationError("--token-file is for --link wss://host") }
        }

        /// - Throws: `ToolError`.
        func read() throws(ToolError) -> String? { try Secrets.read(file: tokenFile, variable: Secrets.token) }
    }
#endif
