// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "Shared",
    platforms: [.iOS(.v17), .watchOS(.v10), .macOS(.v14)],
    products: [.library(name: "MatchKit", targets: ["MatchKit"])],
    dependencies: [
        // In a copy: .package(url: "ADDRESS-OF-SESSIONMESH", from: "0.1.0", traits: ["SQLite"]).
        .package(name: "SessionMesh", path: "../../../..", traits: ["SQLite"])
    ],
    targets: [
        .target(
            name: "MatchKit",
            dependencies: [
                .product(name: "SessionMesh", package: "SessionMesh"),
                .product(name: "MeshSQLiteStorage", package: "SessionMesh"),
            ]),
        .testTarget(
            name: "MatchKitTests",
            dependencies: ["MatchKit", .product(name: "MeshSimulatedWatch", package: "SessionMesh")]),
    ])
