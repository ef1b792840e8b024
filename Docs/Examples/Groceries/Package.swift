// swift-tools-version: 6.1
import PackageDescription

let settings: [SwiftSetting] = [.enableUpcomingFeature("InternalImportsByDefault")]

let package = Package(
    name: "Groceries",
    platforms: [.macOS(.v14), .iOS(.v17), .watchOS(.v10)],
    products: [.library(name: "GroceryList", targets: ["GroceryList"])],
    // In a copy: .package(url: "https://github.com/OWNER/SessionMesh", from: "0.1.0", traits: []).
    dependencies: [.package(name: "SessionMesh", path: "../../..", traits: [])],
    targets: [
        .target(
            name: "GroceryList",
            dependencies: [
                .product(name: "MeshEngine", package: "SessionMesh"),
                .product(name: "MeshIdentity", package: "SessionMesh"),
                .product(name: "MeshSession", package: "SessionMesh"),
                .product(name: "MeshTransport", package: "SessionMesh"),
            ], swiftSettings: settings),
        .target(
            name: "Household",
            dependencies: [
                "GroceryList",
                .product(name: "MeshEngine", package: "SessionMesh"),
                .product(name: "MeshIdentity", package: "SessionMesh"),
                .product(name: "MeshScenarioTransport", package: "SessionMesh"),
                .product(name: "MeshSession", package: "SessionMesh"),
            ], swiftSettings: settings),
        .executableTarget(
            name: "groceries-demo", dependencies: ["GroceryList", "Household"], swiftSettings: settings),
        .testTarget(
            name: "GroceryListTests",
            dependencies: [
                "GroceryList", "Household",
                .product(name: "MeshSession", package: "SessionMesh"),
            ], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
