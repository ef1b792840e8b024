import Foundation
import Testing

@testable import MeshDiscovery

let needsResponder: Comment = "runs in Tests/Network/with-avahi"

/// A discovery implementation that is available on this machine.
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

    /// Without `multicast` on Apple's platforms, because their responder doesn't share port 5353.
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
        /// Set by `Tests/Network/with-avahi`.
        static let hasResponder: Bool = {
            if ProcessInfo.processInfo.environment["MESH_RESPONDER"] != nil { return true }
            print("SystemDiscovery is not tested: no responder; run Tests/Network/with-avahi swift test …")
            return false
        }()
    #endif
}

/// An announcer and a seeker. Every backend must understand every other.
struct DiscoveryPair: CustomTestStringConvertible, Sendable {
    let announcer: DiscoveryBackend
    let seeker: DiscoveryBackend

    /// True if one responder serves both, so it knows all names at once.
    var isOneRespondersOwn: Bool { !announcer.isOurs && !seeker.isOurs }

    var testDescription: String { "\(announcer.testDescription) to \(seeker.testDescription)" }

    static let all = DiscoveryBackend.all.flatMap { announcer in
        DiscoveryBackend.all.map { DiscoveryPair(announcer: announcer, seeker: $0) }
    }
}

extension ServiceType {
    /// A type that no other service on this network uses.
    static func unique() -> ServiceType {
        ServiceType("_t" + String(UInt64.random(in: 0..<0x100_0000_0000), radix: 16) + "._tcp")
    }
}
