// Topics and payload limits used to be in this module. This export lets apps that import it for them compile for one
// more version.
@_exported public import MeshBase
