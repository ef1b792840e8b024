import Foundation
import MeshTesting
import MeshWire

/// libFuzzer brings the main function. Which decoder is attacked is told by the environment: FUZZ_TARGET=frame.
private let target: FuzzTarget = {
    let targets = (try? FuzzTarget.all(codecs: [CompactCodec(), CBORCodec(), JSONCodec()])) ?? []
    let name = ProcessInfo.processInfo.environment["FUZZ_TARGET"] ?? ""
    guard let target = targets.first(where: { $0.name == name }) else {
        FileHandle.standardError.write(
            Data("fuzz: set FUZZ_TARGET to one of \(targets.map(\.name).joined(separator: ", "))\n".utf8))
        exit(2)
    }
    return target
}()

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    do {
        try target.run(UnsafeRawBufferPointer(start: start, count: count))
        return 0
    } catch {
        // libFuzzer keeps the input of whatever crashes.
        fatalError("\(error)")
    }
}
