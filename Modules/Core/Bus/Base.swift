// Topics and payload limits were in this module. Apps that import it for them compile for one more version.
@_exported public import MeshBase
