// swift-tools-version: 6.1
import PackageDescription

// A separate package, so that users of SessionMesh don't resolve the libraries it is compared with.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v14)],
    dependencies: [
        .package(name: "SessionMesh", path: "../../..", traits: ["CommandLineTools"]),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.28.0"),
    ],
    targets: [
        .target(name: "Measuring", linkerSettings: [.linkedLibrary("z")]),
        .target(
            name: "Protobuf",
            dependencies: [
                .product(name: "MeshIdentity", package: "SessionMesh"),
                .product(name: "MeshTesting", package: "SessionMesh"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ],
            exclude: ["samples.proto"], swiftSettings: settings),
        .executableTarget(
            name: "benchmarks",
            dependencies: [
                "Measuring", "Protobuf",
                .product(name: "MeshBus", package: "SessionMesh"),
                .product(name: "MeshBenchmarks", package: "SessionMesh"),
                .product(name: "MeshIdentity", package: "SessionMesh"),
                .product(name: "MeshWire", package: "SessionMesh"),
                .product(name: "MeshTesting", package: "SessionMesh"),
                .product(name: "MeshTransport", package: "SessionMesh"),
                .product(name: "PluginsToolKit", package: "SessionMesh"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
