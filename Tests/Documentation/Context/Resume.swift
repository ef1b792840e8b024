import Foundation
import MeshResume
import MeshResumeGateway

struct Message: Codable, Sendable { let text: String }
struct Limits: Codable, Sendable { let messages: Int }
let folder = "/folder"
let now = Duration.zero
let text = ""
func process(_ message: Message, alerts: Bool) async throws {}
func use(_ limits: Limits) async throws {}
func write(_ bytes: [UInt8], to key: Int) {}
func end(_ key: Int, _ code: CloseCode, _ reason: String) {}
func user(of token: String) async -> String? { nil }
