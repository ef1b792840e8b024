import Foundation
import MeshTestSupport

/// An event that `Tests/Interop/zeroconf_peer.py` prints.
struct ZeroconfEvent: Decodable, Hashable, Sendable {
    var event: String
    var instance: String?
    var port: UInt16?
    var addresses: [String]?
    var attributes: [String: String?]?
    /// The TXT record, in hexadecimal.
    var text: String?
}

extension Program {
    private static let script = Checkout.interop.appending(path: "zeroconf_peer.py").path

    /// True if this machine has python-zeroconf. Continuous integration must have it.
    static let hasZeroconf: Bool = {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", "import zeroconf"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    static func zeroconf(_ arguments: String...) throws -> Program {
        try Program("python3", ["-B", "-u", script] + arguments)
    }

    /// The next event of the given kind.
    func event(_ kind: String, where isMet: (ZeroconfEvent) -> Bool = { _ in true }) async -> ZeroconfEvent? {
        while let line = await nextLine() {
            let event = try? JSONDecoder().decode(ZeroconfEvent.self, from: Data(line.utf8))
            if let event, event.event == kind, isMet(event) { return event }
        }
        return nil
    }
}
