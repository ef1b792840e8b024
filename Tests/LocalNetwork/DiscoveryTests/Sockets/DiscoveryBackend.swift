import Foundation
import Testing

@testable import MeshDiscovery

let needsResponder: Comment = "runs in Tests/Network/with-avahi"

/// A way to announce and find services that this machine has.
struct DiscoveryBackend: CustomTestStringConvertible, Sendable {
    let testDescription: String
    var isOurs = false
    let make: @Sendable (ServiceType) -> any ServiceDiscovery

    static let multicast = DiscoveryBackend(testDescription: "MulticastDNS", isOurs: true) {
        MulticastDNS(type: $0, options: MulticastDNSOptions(interfaces: [loopback]))
    }

    #if SystemDiscovery || canImport(Darwin)
        static let system = DiscoveryBackend(testDescription: "SystemDiscovery") { SystemDiscovery(type: $0) }
    #endif

    /// Apple's responder lets nobody else have port 5353.
    #if canImport(Darwin)
        static let all = [system]
        static let loopback = "lo0"
        static let hasResponder = true
    #else
        #if SystemDiscovery
            static let all = hasResponder ? [multicast, system] : [multicast]
        #else
            static let all = [multicast]
        #endif
        static let loopback = "lo"
        /// `Tests/Network/with-avahi` says so.
        static let hasResponder: Bool = {
            if ProcessInfo.processInfo.environment["MESH_RESPONDER"] != nil { return true }
            print("SystemDiscovery is not tested: no responder; run Tests/Network/with-avahi swift test …")
            return false
        }()
    #endif
}

/// Who announces and who looks. Every backend must understand every other.
struct DiscoveryPair: CustomTestStringConvertible, Sendable {
    let announcer: DiscoveryBackend
    let seeker: DiscoveryBackend

    /// Both are served by one program, which knows all names at once.
    var isOneRespondersOwn: Bool { !announcer.isOurs && !seeker.isOurs }

    var testDescription: String { "\(announcer.testDescription) to \(seeker.testDescription)" }

    static let all = DiscoveryBackend.all.flatMap { announcer in
        DiscoveryBackend.all.map { DiscoveryPair(announcer: announcer, seeker: $0) }
    }
}

extension ServiceType {
    /// One that nobody else on this network uses.
    static func unique() -> ServiceType {
        ServiceType("_t" + String(UInt64.random(in: 0..<0x100_0000_0000), radix: 16) + "._tcp")
    }
}
