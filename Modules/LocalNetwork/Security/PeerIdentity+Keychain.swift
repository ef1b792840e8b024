#if (UDP || MQTT || WebSocket) && canImport(Security)
    import Crypto
    import Foundation
    import Security

    extension PeerIdentity {
        /// Reads the identity stored in the keychain under a label, or creates one. It stays on this device. It can be
        /// read once the device has been unlocked after a restart.
        ///
        /// - Parameter accessGroup: The keychain group that several apps share; nil for the app's own.
        /// - Throws: `SecurityError` with `systemCallFailed`, whose `errorNumber` is the `OSStatus`, or `damaged`.
        public init(keychain label: String, accessGroup: String? = nil) throws(SecurityError) {
            let query = Self.query(label, accessGroup)
            if let stored = try Self.load(query) {
                self = stored
                return
            }
            let made = PeerIdentity()
            var item = query
            item[kSecValueData as String] = made.key.rawRepresentation
            item[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            let status = SecItemAdd(item as CFDictionary, nil)
            // Another process created the item first.
            if status == errSecDuplicateItem, let stored = try Self.load(query) {
                self = stored
                return
            }
            guard status == errSecSuccess else { throw Self.failure("write to", status) }
            self = made
        }

        /// Replaces the identity in the keychain under a label with a new one. The device must then be paired again, as
        /// after `reset(file:)`.
        ///
        /// - Throws: `SecurityError`, like `init(keychain:accessGroup:)`.
        public static func reset(
            keychain label: String, accessGroup: String? = nil
        ) throws(SecurityError) -> PeerIdentity {
            let status = SecItemDelete(query(label, accessGroup) as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else { throw failure("write to", status) }
            return try PeerIdentity(keychain: label, accessGroup: accessGroup)
        }

        private static func query(_ label: String, _ accessGroup: String?) -> [String: Any] {
            var query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword,
                kSecAttrService as String: "SessionMesh peer identity",
                kSecAttrAccount as String: label,
            ]
            if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup }
            return query
        }

        private static func load(_ query: [String: Any]) throws(SecurityError) -> PeerIdentity? {
            var query = query
            query[kSecReturnData as String] = true
            var result: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &result)
            if status == errSecItemNotFound { return nil }
            guard status == errSecSuccess else { throw failure("read", status) }
            guard let data = result as? Data, let key = try? P256.Signing.PrivateKey(rawRepresentation: data) else {
                throw SecurityError(.damaged, "the keychain holds something else under this label; use another label")
            }
            return PeerIdentity(key)
        }

        private static func failure(_ verb: String, _ status: OSStatus) -> SecurityError {
            SecurityError(.systemCallFailed, "can't \(verb) the keychain: status \(status)", errorNumber: status)
        }
    }
#endif
