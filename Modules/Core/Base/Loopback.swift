/// The loopback interface of this machine.
package enum Loopback {
    /// Returns true if a host is written as `localhost`, 127.x.x.x or ::1, without brackets. Resolves no names.
    package static func contains(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let isIPv4 = parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
        return isIPv4 || host == "::1" || host.lowercased() == "localhost"
    }
}
