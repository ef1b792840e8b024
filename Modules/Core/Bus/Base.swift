// Topics and payload limits were in this module. For one more version, apps that import it for these still compile.
@_exported public import MeshBase
