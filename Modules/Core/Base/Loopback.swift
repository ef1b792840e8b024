/// This machine as its own programs call it.
package enum Loopback {
    /// Whether a host is this machine by its spelling: `localhost`, 127.x.x.x or ::1, without brackets. Nothing is resolved.
    package static func contains(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let isIPv4 = parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
        return isIPv4 || host == "::1" || host.lowercased() == "localhost"
    }
}
