// swift-tools-version: 6.1
import PackageDescription

let settings: [SwiftSetting] = [.enableUpcomingFeature("InternalImportsByDefault")]

let package = Package(
    name: "Player",
    platforms: [.macOS(.v14), .iOS(.v17), .watchOS(.v10)],
    products: [.library(name: "Player", targets: ["Player"])],
    // In a copy: .package(url: "https://github.com/OWNER/SessionMesh", from: "0.1.0", traits: []).
    dependencies: [.package(name: "SessionMesh", path: "../../..", traits: [])],
    targets: [
        .target(
            name: "Player",
            dependencies: [
                .product(name: "MeshConnection", package: "SessionMesh"),
                .product(name: "MeshIdentity", package: "SessionMesh"),
                .product(name: "MeshKeySync", package: "SessionMesh"),
                .product(name: "MeshStorage", package: "SessionMesh"),
                .product(name: "MeshTransport", package: "SessionMesh"),
                .product(name: "MeshWatchConnectivityTransport", package: "SessionMesh"),
            ], swiftSettings: settings),
        .executableTarget(
            name: "player-demo",
            dependencies: [
                "Player",
                .product(name: "MeshKeySync", package: "SessionMesh"),
                .product(name: "MeshSimulatedWatch", package: "SessionMesh"),
                .product(name: "MeshStorage", package: "SessionMesh"),
            ], swiftSettings: settings),
        .testTarget(
            name: "PlayerTests",
            dependencies: [
                "Player",
                .product(name: "MeshConnection", package: "SessionMesh"),
                .product(name: "MeshKeySync", package: "SessionMesh"),
                .product(name: "MeshSimulatedWatch", package: "SessionMesh"),
                .product(name: "MeshStorage", package: "SessionMesh"),
            ], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
