// Topics and payload limits were in this module. For one more version, apps that import it for them still compile.
@_exported public import MeshBase
