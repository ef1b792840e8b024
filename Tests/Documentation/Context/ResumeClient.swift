import Foundation
import MeshResume

struct Message: Codable, Sendable { let text: String }
struct Limits: Codable, Sendable { let messages: Int }
let folder = "/folder"
func process(_ message: Message, alerts: Bool) async throws {}
func use(_ limits: Limits) async throws {}
