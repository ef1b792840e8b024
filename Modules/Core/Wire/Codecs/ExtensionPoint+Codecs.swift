public import MeshBus
public import MeshIdentity

extension ExtensionPoint where Value == any PayloadCodec {
    /// Where codecs register; a frame names its codec by number.
    public static let codecs = ExtensionPoint("sessionmesh.codecs")
}
