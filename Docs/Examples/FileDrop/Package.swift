// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "FileDrop",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [.library(name: "FileDrop", targets: ["FileDrop"])],
    dependencies: [.package(name: "SessionMesh", path: "../../..", traits: ["CommandLineTools"])],
    targets: [
        .target(
            name: "FileDrop",
            dependencies: [
                .product(name: "MeshBus", package: "SessionMesh"),
                .product(name: "MeshDelivery", package: "SessionMesh"),
                .product(name: "MeshIdentity", package: "SessionMesh"),
                .product(name: "MeshStorage", package: "SessionMesh"),
                .product(name: "MeshTransport", package: "SessionMesh"),
                .product(name: "MeshWire", package: "SessionMesh"),
            ]),
        .executableTarget(
            name: "file-drop-tool",
            dependencies: ["FileDrop", .product(name: "PluginsToolKit", package: "SessionMesh")]),
        .testTarget(
            name: "FileDropTests",
            dependencies: ["FileDrop", .product(name: "MeshTesting", package: "SessionMesh")]),
    ],
    swiftLanguageModes: [.v6]
)
