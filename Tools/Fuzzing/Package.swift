// swift-tools-version: 6.1
import PackageDescription

// Build with `swift build -c release --sanitize=fuzzer`, or use `Tools/Fuzzing/run`.
let package = Package(
    name: "Fuzzing",
    platforms: [.macOS(.v14)],
    dependencies: [.package(name: "SessionMesh", path: "../..", traits: ["Zstd"])],
    targets: [
        .executableTarget(
            name: "fuzz",
            dependencies: [
                .product(name: "MeshIdentity", package: "SessionMesh"),
                .product(name: "MeshWire", package: "SessionMesh"),
                .product(name: "MeshZstd", package: "SessionMesh"),
                .product(name: "MeshTesting", package: "SessionMesh"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
