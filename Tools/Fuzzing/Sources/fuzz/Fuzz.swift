import Foundation
import MeshIdentity
import MeshTesting
import MeshWire
import MeshZstd

/// The codecs to fuzz. libFuzzer provides the main function.
private let codecs: [any PayloadCodec] = [CompactCodec(), JSONCodec()]

/// The decoder to fuzz, from the environment: FUZZ_TARGET=frame.
private let target: FuzzTarget = {
    let targets = (try? FuzzTarget.all(codecs: codecs, formats: [ZstdFormat()])) ?? []
    let name = ProcessInfo.processInfo.environment["FUZZ_TARGET"] ?? ""
    guard let target = targets.first(where: { $0.name == name }) else {
        leave("set FUZZ_TARGET to one of \(targets.map(\.name).joined(separator: ", "))")
    }
    return target
}()

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    do {
        try target.run(UnsafeRawBufferPointer(start: start, count: count))
        return 0
    } catch {
        // libFuzzer keeps the input of a crash.
        fatalError("\(error)")
    }
}

/// Writes sample payloads and exits if the environment has FUZZ_SEEDS=FOLDER. Each codec has its own FOLDER/CODEC.
@_cdecl("LLVMFuzzerInitialize")
public func fuzzInitialize(
    _ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?
) -> Int32 {
    guard let folder = ProcessInfo.processInfo.environment["FUZZ_SEEDS"] else { return 0 }
    do {
        for codec in codecs {
            try writeSeeds(of: codec, to: URL(filePath: folder).appending(path: codec.id.name))
        }
    } catch {
        leave("\(error)")
    }
    exit(0)
}

private func writeSeeds(of codec: any PayloadCodec, to folder: URL) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let seeds: [(name: String, bytes: [UInt8])] = [
        ("event", try codec.encode(SamplePayloads.event())),
        ("metrics", try codec.encode(SamplePayloads.metrics())),
        ("workout", try codec.encode(SamplePayloads.workout())),
        ("track", try codec.encode(SamplePayloads.track(count: 12))),
        ("record", try codec.encode(SamplePayloads.record())),
        ("document", try codec.encode(SamplePayloads.document())),
        ("dictionary", try codec.encode(["a": [1, -2, 300], "b": []])),
        ("lists", try codec.encode([[[1, 2, 255], []], [[0]]] as [[[UInt8]]])),
    ]
    for seed in seeds { try Data(seed.bytes).write(to: folder.appending(path: seed.name)) }
}

private func leave(_ reason: String) -> Never {
    FileHandle.standardError.write(Data("fuzz: \(reason)\n".utf8))
    exit(2)
}
