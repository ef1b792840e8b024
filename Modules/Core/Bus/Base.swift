// The parts of MeshBase that apps name (topics, payload limits) were part of this module until version 0.2.
@_exported public import MeshBase
