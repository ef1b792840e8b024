@_exported public import MeshFixtures
