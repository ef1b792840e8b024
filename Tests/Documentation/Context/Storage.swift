import MeshStorage
import MeshTesting
import Testing

typealias MyStore = SQLiteStore
