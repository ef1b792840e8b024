// swift-tools-version: 6.1
import PackageDescription

// A consumer that picks one product of the package and none of its traits. `check` proves that this builds no more
// than the product needs and fetches nothing.
let package = Package(
    name: "ALaCarte",
    platforms: [.macOS(.v14)],
    dependencies: [
        // Named: a bare path takes the name of the folder that the checkout lies in.
        .package(name: "SessionMesh", path: "../..", traits: [])
    ],
    targets: [
        .executableTarget(
            name: "ALaCarte", dependencies: [.product(name: "MeshEngine", package: "SessionMesh")], path: "Sources")
    ],
    swiftLanguageModes: [.v6]
)
