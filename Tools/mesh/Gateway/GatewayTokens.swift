#if CommandLineTools && WebSocket
    import Crypto
    import Foundation

    /// Signed tokens that identify one user until they expire: `m1.USER.EXPIRY.CODE`. USER and CODE are base64url (RFC 4648)
    /// without padding. EXPIRY is in seconds since 1970. CODE is HMAC-SHA256 with the gateway's key, over the purpose string
    /// and the text before the last dot.
    struct GatewayTokens: Sendable {
        static let secretBytesMin = 16
        private static let version = "m1"
        private static let purpose = "SessionMesh gateway token\0"
        private let key: SymmetricKey

        /// - Returns: nil if the secret is too short.
        init?(secret: String) {
            guard secret.utf8.count >= Self.secretBytesMin else { return nil }
            key = SymmetricKey(data: Data(secret.utf8))
        }

        func token(for user: String, expiry: Int64) -> String {
            let signed = "\(Self.version).\(Self.encoded(user.utf8)).\(expiry)"
            return "\(signed).\(Self.encoded(HMAC<SHA256>.authenticationCode(for: Self.message(signed), using: key)))"
        }

        /// Verifies a token.
        /// - Parameter now: Seconds since 1970.
        /// - Returns: nil if the token wasn't signed with this key or has expired.
        func user(of token: String, now: Int64) -> (name: String, expiry: Int64)? {
            let parts = token.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 4, parts[0] == Self.version, let code = Self.decoded(parts[3]),
                HMAC<SHA256>.isValidAuthenticationCode(
                    code, authenticating: Self.message(parts[..<3].joined(separator: ".")), using: key),
                let expiry = Int64(parts[2]), now < expiry, let name = Self.decoded(parts[1])
            else { return nil }
            return String(bytes: name, encoding: .utf8).map { ($0, expiry) }
        }

        private static func message(_ signed: String) -> Data { Data((purpose + signed).utf8) }

        private static func encoded(_ bytes: some Sequence<UInt8>) -> String {
            Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
                "=", with: "")
        }

        private static func decoded(_ text: Substring) -> Data? {
            let standard = text.replacing("-", with: "+").replacing("_", with: "/")
            let padding = String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
            return Data(base64Encoded: standard + padding)
        }
    }
#endif
