public import MeshBus
public import MeshIdentity

extension ExtensionPoint where Value == any PayloadCodec {
    /// The extension point at which codecs register. A frame names its codec by number.
    public static let codecs = ExtensionPoint("sessionmesh.codecs")
}
