import Foundation
import MeshResume

let now = Duration.zero
let text = ""
func write(_ bytes: [UInt8], to key: Int) {}
func end(_ key: Int, _ code: CloseCode, _ reason: String) {}
func user(of token: String) async -> String? { nil }
