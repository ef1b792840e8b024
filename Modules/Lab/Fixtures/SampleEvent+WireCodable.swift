import Foundation
public import MeshWire

extension SampleEvent: WireCodable {
    public enum WireKeys: Int, CodingKey {
        case pause = 1
        case resume, lap
    }
    public enum ValueKeys: Int, CodingKey {
        case at = 1
        case index
    }

    public func encode(into fields: inout WireFieldWriter<WireKeys>) {
        switch self {
        case .pause(let at): fields.writeRecord(.pause, keyedBy: ValueKeys.self) { $0.write(at, .at) }
        case .resume(let at): fields.writeRecord(.resume, keyedBy: ValueKeys.self) { $0.write(at, .at) }
        case .lap(let index, let at):
            fields.writeRecord(.lap, keyedBy: ValueKeys.self) {
                $0.write(at, .at)
                $0.write(index, .index)
            }
        }
    }

    public init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
        let key = try fields.readCase()
        self = try fields.readRecord(key, keyedBy: ValueKeys.self) { values throws(WireError) in
            let at = try values.read(.at, as: Date.self)
            return switch key {
            case .pause: .pause(at: at)
            case .resume: .resume(at: at)
            case .lap: .lap(index: try values.read(.index), at: at)
            }
        }
    }
}
