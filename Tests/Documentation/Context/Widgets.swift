import SessionMesh

struct Settings: Codable, Sendable, Equatable { var volume = 5 }
