public import MeshBus

/// A plugin that registers MeshFileTransfer.
public struct FileTransferPlugin: Plugin {
    /// Creates the plugin, which has no settings.
    public init() {}

    public var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "feature.files", kind: .feature, module: "MeshFileTransfer", version: "0.1.0",
            summary: "Sends complete files, and resumes interrupted transfers", requires: ["core.connection"],
            capabilities: ["resume", "cancel", "metadata"], limits: [.fileHeader])
    }
}

extension PayloadLimit {
    /// Maximum size of a file's name and metadata.
    public static let fileHeader = PayloadLimit(
        id: "file.header", bytes: FileHeader.bytesMax, summary: "Name and metadata of one file",
        source: "chosen; half of the 65,536 bytes of a message between phone and watch")
}
