import Foundation
import MeshBus
import MeshDelivery
import MeshIdentity
import MeshStorage
import MeshTransport
import MeshWire

/// Registers the file drop and offers its links to the conformance rules.
public struct FileDropPlugin: Plugin {
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "transport.file-drop", kind: .transport, module: "FileDrop", version: "0.1.0",
            summary: "Two peers that share a disk: each packet is a file in the other's folder",
            requires: ["core.delivery"], capabilities: ["queue"], limits: [.fileDropPacket])
    }

    public func contribute(to registry: inout ExtensionRegistry) {
        registry.add(LinkFixture(patience: 2_000) { _ in Self.makeLinks() }, to: .linkFixtures)
    }

    /// The plugin and what it requires, for tools and tests.
    public static var withRequirements: [any Plugin] {
        [
            CompactCodecPlugin(), StoragePlugin(), DeliveryPlugin(),
            FileDropPlugin(),
        ]
    }

    /// Creates two connected links in a temporary folder. They check their inboxes only when the rules call `settle`.
    private static func makeLinks() -> LinkGroup {
        let folder = TemporaryFolder()
        let (left, right) = (folder.url.appending(path: "left"), folder.url.appending(path: "right"))
        let links = [
            FileDropLink(inbox: left, outbox: right, interval: nil),
            FileDropLink(inbox: right, outbox: left, interval: nil),
        ]
        return LinkGroup(
            links,
            settle: {
                for link in links { link.look() }
                try? await Task.sleep(for: .microseconds(200))
                withExtendedLifetime(folder) {}
            })
    }
}

/// A folder that is removed with the last reference to it.
private final class TemporaryFolder: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(path: "file-drop-\(UUID().uuidString)")

    deinit { try? FileManager.default.removeItem(at: url) }
}
