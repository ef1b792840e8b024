#if CommandLineTools && WebSocket
    import Crypto
    import Foundation

    /// Tokens that each name one user until a time, signed with the gateway's key: `m1.USER.EXPIRY.CODE`. USER and CODE are
    /// base64url (RFC 4648) without padding, EXPIRY is in seconds since 1970, and CODE is HMAC-SHA256 over the purpose and
    /// what precedes it.
    struct GatewayTokens: Sendable {
        static let secretBytesMin = 16
        private static let version = "m1"
        private static let purpose = "SessionMesh gateway token\0"
        private let key: SymmetricKey

        /// - Returns: nil for a secret that is too short to be one.
        init?(secret: String) {
            guard secret.utf8.count >= Self.secretBytesMin else { return nil }
            key = SymmetricKey(data: Data(secret.utf8))
        }

        func token(for user: String, expiry: Int64) -> String {
            let signed = "\(Self.version).\(Self.encoded(user.utf8)).\(expiry)"
            return "\(signed).\(Self.encoded(HMAC<SHA256>.authenticationCode(for: Self.message(signed), using: key)))"
        }

        /// - Parameter now: in seconds since 1970.
        /// - Returns: nil for a token that isn't of this key or has expired.
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
