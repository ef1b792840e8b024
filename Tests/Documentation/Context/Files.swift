import Foundation
import MeshConnection
import MeshFileTransfer

@MainActor var connection: TransportConnection { fatalError() }
let inbox = URL(filePath: "/inbox")
let library = URL(filePath: "/library")
let track = URL(filePath: "/track.gpx")
@MainActor func show(_ fraction: Double) {}
